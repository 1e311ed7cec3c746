// Command libraries builds the libraries that a wheel has, in the folder that its argument names. Without an argument,
// it prints the path of the mock driver. python/test runs it.
package main

import (
	"fmt"
	"os"

	"mscclc/executor/gpu/gputest"
	"mscclc/runtime"
)

func main() {
	if len(os.Args) < 2 {
		path, err := gputest.Build()
		fail(err)
		fmt.Println(path)
		return
	}
	for _, build := range []func(string) error{
		func(dir string) error { return runtime.Build(dir) },
		runtime.BuildC,
	} {
		fail(build(os.Args[1]))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "libraries:", err)
		os.Exit(1)
	}
}

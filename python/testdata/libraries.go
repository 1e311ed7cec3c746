// Command libraries builds the libraries that a wheel has, in the folder that its argument names. python/test runs it.
package main

import (
	"fmt"
	"os"

	"mscclc/runtime"
)

func main() {
	for _, build := range []func(string) error{
		func(dir string) error { return runtime.Build(dir) },
		runtime.BuildC,
	} {
		if err := build(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "libraries:", err)
			os.Exit(1)
		}
	}
}

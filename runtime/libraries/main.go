// Command libraries builds the libraries of package runtime in a folder, for a release (wheel, .deb or archive). CXX is
// the compiler and its flags.
package main

import (
	"fmt"
	"os"

	"mscclc/runtime"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "libraries: give a folder")
		os.Exit(2)
	}
	if err := runtime.BuildAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "libraries:", err)
		os.Exit(1)
	}
}

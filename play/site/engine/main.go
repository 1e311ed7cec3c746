// Command engine builds the WebAssembly module of mscclc play, for a release (wheel, .deb or archive): engine FOLDER
// VERSION writes it into FOLDER. It runs in a clone.
package main

import (
	"fmt"
	"os"

	"mscclc/play/site"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "engine: give a folder and the version of the command")
		os.Exit(2)
	}
	engine, err := site.BuildEngine(".")
	if err == nil {
		err = site.WriteEngine(os.Args[1], os.Args[2], engine)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
}

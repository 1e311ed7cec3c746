//go:build !js

// Command wasm is the language server, with all that compiles, proves and simulates, for WebAssembly. A page or an
// editor sets the function mscclcSend before it starts the module, and gets the server's messages by it as texts. The
// function mscclcReceive, which the module sets, takes the editor's. If mscclcFiles is true, the server reads files of
// the host.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "this is for WebAssembly: GOOS=js GOARCH=wasm go build ./lsp/wasm")
	os.Exit(3)
}

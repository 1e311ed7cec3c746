//go:build !js

// Command wasm is the language server, with all that compiles, proves and simulates, for WebAssembly. Before a page or
// an editor starts the module, it sets the function mscclcSend. The server calls it with the text of each message. The
// module sets the function mscclcReceive, by which the page or editor sends messages to the server. If mscclcFiles is
// true, the server reads files of the host.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "this is for WebAssembly: GOOS=js GOARCH=wasm go build ./lsp/wasm")
	os.Exit(3)
}

package main

import (
	"syscall/js"

	"mscclc/lsp"
)

func main() {
	send := js.Global().Get("mscclcSend")
	opt := lsp.Options{Send: func(message []byte) { send.Invoke(string(message)) }}
	if js.Global().Get("mscclcFiles").Truthy() {
		opt.Read, opt.List = lsp.ReadFile, lsp.Sources
	}
	s := lsp.NewServer(opt)
	ended := make(chan struct{})
	js.Global().Set("mscclcReceive", js.FuncOf(func(_ js.Value, args []js.Value) any {
		if len(args) == 1 && args[0].Type() == js.TypeString && s.Receive([]byte(args[0].String())) {
			close(ended)
		}
		return nil
	}))
	<-ended
	s.Close()
}

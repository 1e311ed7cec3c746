package lsp

// handlers answer the requests about a document.
var handlers map[string]func(d *snapshot, p *documentParams) (any, error)

func init() {
	handlers = map[string]func(d *snapshot, p *documentParams) (any, error){
		"mscclc/scene":                sceneOf,
		"textDocument/hover":          hoverAt,
		"textDocument/definition":     definition,
		"textDocument/references":     references,
		"textDocument/prepareRename":  prepareRename,
		"textDocument/rename":         rename,
		"textDocument/documentSymbol": symbols,
		"textDocument/formatting":     format,
		"textDocument/foldingRange":   foldings,
		"textDocument/inlayHint":      inlayHints,
		"textDocument/codeLens":       codeLenses,
		"textDocument/codeAction":     codeActions,
		"textDocument/completion":     completion,
		"textDocument/signatureHelp":  signatures,
	}
}

package lsp

import "encoding/json"

// This file has the types of the Language Server Protocol 3.17 that this server uses. Their names and fields are the
// protocol's.

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"` // in units of UTF-16
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string    `json:"uri"`
	Range textRange `json:"range"`
}

type textDocument struct {
	URI        string `json:"uri"`
	LanguageID string `json:"languageId,omitempty"`
	Version    int    `json:"version,omitempty"`
	Text       string `json:"text,omitempty"`
}

type change struct {
	Range *textRange `json:"range,omitempty"`
	Text  string     `json:"text"`
}

// documentParams are the parameters of all requests and notifications about a document.
type documentParams struct {
	TextDocument textDocument `json:"textDocument"`
	Position     position     `json:"position"`
	Range        textRange    `json:"range"`
	Changes      []change     `json:"contentChanges"`
	NewName      string       `json:"newName"`
	Context      struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
	sceneParams
}

type related struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

type diagnostic struct {
	Range    textRange `json:"range"`
	Severity int       `json:"severity"`
	Code     string    `json:"code"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
	Related  []related `json:"relatedInformation,omitempty"`
}

type published struct {
	URI         string       `json:"uri"`
	Version     int          `json:"version"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type textEdit struct {
	Range   textRange `json:"range"`
	NewText string    `json:"newText"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []diagnostic  `json:"diagnostics"`
	Preferred   bool          `json:"isPreferred"`
	Edit        workspaceEdit `json:"edit"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

type hover struct {
	Contents markup    `json:"contents"`
	Range    textRange `json:"range"`
}

type command struct {
	Title     string `json:"title"`
	Command   string `json:"command"`
	Arguments []any  `json:"arguments,omitempty"`
}

type codeLens struct {
	Range   textRange `json:"range"`
	Command command   `json:"command"`
}

type inlayHint struct {
	Position    position `json:"position"`
	Label       string   `json:"label"`
	PaddingLeft bool     `json:"paddingLeft"`
}

type documentSymbol struct {
	Name      string    `json:"name"`
	Detail    string    `json:"detail,omitempty"`
	Kind      int       `json:"kind"`
	Range     textRange `json:"range"`
	Selection textRange `json:"selectionRange"`
}

type foldingRange struct {
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Kind      string `json:"kind,omitempty"`
}

type completionItem struct {
	Label  string `json:"label"`
	Kind   int    `json:"kind"`
	Detail string `json:"detail,omitempty"`
}

type signatureHelp struct {
	Signatures      []signature `json:"signatures"`
	ActiveSignature int         `json:"activeSignature"`
	ActiveParameter int         `json:"activeParameter"`
}

type signature struct {
	Label      string      `json:"label"`
	Parameters []parameter `json:"parameters"`
}

type parameter struct {
	Label string `json:"label"`
}

// The kinds of symbols and of completions.
const (
	symbolModule, symbolClass, symbolFunction, symbolVariable, symbolConstant, symbolArray = 2, 5, 12, 13, 14, 18

	completeFunction, completeField, completeVariable, completeModule, completeProperty = 3, 5, 6, 9, 10

	completeValue, completeKeyword, completeFile = 12, 14, 17
)

// A message is a request, a notification or a response. ID is null or absent in a notification.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// The codes of errors.
const (
	parseError, invalidRequest, methodNotFound, invalidParams, internalError = -32700, -32600, -32601, -32602, -32603

	notInitialized, requestFailed, contentModified, requestCancelled = -32002, -32803, -32801, -32800
)

// capabilities are what the server says of itself.
func capabilities() map[string]any {
	yes := map[string]any{"workDoneProgress": false}
	return map[string]any{
		"serverInfo": map[string]any{"name": "mscclc"},
		"capabilities": map[string]any{
			"positionEncoding":           "utf-16",
			"textDocumentSync":           map[string]any{"openClose": true, "change": 2},
			"hoverProvider":              yes,
			"definitionProvider":         yes,
			"referencesProvider":         yes,
			"documentSymbolProvider":     yes,
			"documentFormattingProvider": yes,
			"foldingRangeProvider":       yes,
			"inlayHintProvider":          yes,
			"codeLensProvider":           map[string]any{"resolveProvider": false},
			"renameProvider":             map[string]any{"prepareProvider": true},
			"codeActionProvider":         map[string]any{"codeActionKinds": []string{"quickfix"}},
			"completionProvider":         map[string]any{"triggerCharacters": []string{".", "(", "\"", "="}},
			"signatureHelpProvider":      map[string]any{"triggerCharacters": []string{"(", ","}},
		},
	}
}

package lsp

import (
	"encoding/json"

	"mscclc/algorithms"
)

// catalog answers mscclc/catalog: the names of the programs of the catalog or, with a name, a program's text.
func (s *Server) catalog(m *message) {
	var p struct {
		Name string `json:"name"`
	}
	if len(m.Params) > 0 && json.Unmarshal(m.Params, &p) != nil {
		s.fail(m.ID, &rpcError{invalidParams, "the parameters do not fit mscclc/catalog"})
		return
	}
	if p.Name == "" {
		s.reply(m.ID, map[string]any{"names": algorithms.Names()})
		return
	}
	text, err := algorithms.Open(p.Name)
	if err != nil {
		s.fail(m.ID, &rpcError{requestFailed, "the catalog has no " + p.Name})
		return
	}
	s.reply(m.ID, map[string]any{"text": string(text)})
}

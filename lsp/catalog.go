package lsp

import (
	"encoding/json"

	"mscclc/play"
)

// catalog answers mscclc/catalog: what there is to choose from or, with the name of a program or a machine, its text.
func (s *Server) catalog(m *message) {
	var p struct {
		Name    string `json:"name"`
		Machine string `json:"machine"`
	}
	if len(m.Params) > 0 && json.Unmarshal(m.Params, &p) != nil {
		s.fail(m.ID, &rpcError{invalidParams, "the parameters do not fit mscclc/catalog"})
		return
	}
	if p.Name == "" && p.Machine == "" {
		s.reply(m.ID, play.CatalogOf())
		return
	}
	text, err := play.CatalogText(p.Name, p.Machine)
	if err != nil {
		s.fail(m.ID, &rpcError{requestFailed, err.Error()})
		return
	}
	s.reply(m.ID, map[string]any{"text": text})
}

// trace answers mscclc/trace: the timeline of a file that run or simulate wrote with --trace.
func (s *Server) trace(m *message) {
	var p struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		s.fail(m.ID, &rpcError{invalidParams, "the parameters do not fit mscclc/trace"})
		return
	}
	t, err := play.ReadTrace(p.Name, []byte(p.Text))
	if err != nil {
		s.fail(m.ID, &rpcError{requestFailed, err.Error()})
		return
	}
	s.reply(m.ID, map[string]any{"timeline": t})
}

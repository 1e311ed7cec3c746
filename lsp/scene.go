package lsp

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang"
	"mscclc/passes/core"
	"mscclc/play"
)

// A sceneParams is what mscclc/scene asks for beside the document.
type sceneParams struct {
	Params   map[string]string `json:"params"` // of the algorithm
	Machine  string            `json:"machine"`
	Topology string            `json:"topology"` // the text of a .topo file
	Bytes    int64             `json:"bytes"`
	DType    string            `json:"dtype"`
	Protocol string            `json:"protocol"`
	Sided    string            `json:"sided"`
	Lanes    int               `json:"lanes"`
}

// sceneOf answers mscclc/scene: it proves a document, and returns all that the page shows of it.
func sceneOf(d *snapshot, p *documentParams) (any, error) {
	if d.isMachine() {
		return nil, fmt.Errorf("%s is a machine: a scene is of an algorithm or a program", d.path)
	}
	s := d.server
	s.mu.Lock()
	machine, bytes, scenes := cmp.Or(p.Machine, s.machine), cmp.Or(p.Bytes, s.bytes), s.scenes
	s.mu.Unlock()
	if p.Topology != "" {
		machine = p.Machine
	}
	base, name := s.named(d.path)
	r := &play.Request{Name: name, Text: d.text, Params: lang.Params{}, Machine: machine, Topology: p.Topology,
		Bytes: bytes, DType: data.F32, OneSided: p.Sided != "two", Lanes: p.Lanes,
		Open:  func(file string) ([]byte, error) { return s.file(base + file) },
		Stale: func() bool { return !s.current(d) }}
	for name, value := range p.Params {
		r.Params[name] = value
	}
	if err := choice(r, p); err != nil {
		return nil, err
	}
	s.ask(d.uri, r.Params)
	result, err := play.Build(r)
	if err != nil {
		return nil, &rpcError{contentModified, "the document has changed"}
	}
	if scenes {
		found := &proof{problems: d.placed(result.Problems, base), program: result.Program, proven: result.Proven,
			machine: machine}
		if result.Scene.Figures != nil {
			found.latency = result.Scene.Figures.Latency
		}
		d.setProof(found)
		s.publish(d, found.problems)
	}
	return result.Scene, nil
}

// ask has a document be run with the parameters of its last scene, where scenes prove.
func (s *Server) ask(uri string, params lang.Params) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scenes {
		s.asked[uri] = params
	}
}

// settings returns the parameters that a document is run with, or nil for its own.
func (s *Server) settings(uri string) lang.Params {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[uri]
}

// choice sets what a request names by words.
func choice(r *play.Request, p *documentParams) error {
	if p.Protocol != "" {
		protocol, ok := ir.ProtocolByName(p.Protocol)
		if !ok {
			return fmt.Errorf("there is no protocol %s", p.Protocol)
		}
		r.Protocol = &protocol
	}
	if p.DType != "" {
		dtype, ok := data.DTypeByName(p.DType)
		if !ok {
			return fmt.Errorf("there is no type %s", p.DType)
		}
		r.DType = dtype
	}
	switch {
	case p.Sided != "" && p.Sided != "one" && p.Sided != "two":
		return fmt.Errorf("sided is one or two, not %s", p.Sided)
	case p.Lanes < 0 || p.Lanes > core.MostLanes:
		return fmt.Errorf("lanes are from 1 to %d", core.MostLanes)
	case p.Lanes > 1 && !r.OneSided:
		return fmt.Errorf("lanes are of one-sided programs")
	}
	return nil
}

// named returns what a document's name in a scene follows, and that name: its path below the folder of the workspace.
func (s *Server) named(file string) (base, name string) {
	s.mu.Lock()
	root := s.root
	s.mu.Unlock()
	base = strings.TrimSuffix(root, "/") + "/"
	if name, below := strings.CutPrefix(file, base); below && name != "" {
		return base, name
	}
	return "", file
}

// placed returns problems of a scene, whose files have names there, with the paths of the files.
func (d *snapshot) placed(list diag.List, base string) diag.List {
	at := func(s diag.Span) diag.Span {
		if s.Filename != "" && !path.IsAbs(s.Filename) && base != "" {
			s.Filename = base + s.Filename
		}
		return s
	}
	out := make(diag.List, len(list))
	for i := range list {
		out[i] = list[i]
		out[i].Span = at(list[i].Span)
		out[i].Notes = nil
		for _, n := range list[i].Notes {
			out[i].Notes = append(out[i].Notes, diag.Note{Span: at(n.Span), Text: n.Text})
		}
		if e := list[i].Fix; e != nil {
			edit := *e
			edit.Span = at(e.Span)
			out[i].Fix = &edit
		}
	}
	return out
}

package lsp

import (
	"fmt"

	"mscclc"
	"mscclc/ir/diag"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// This file says what is wrong with a document, and mends it.

// mostPublished is how many problems of a document are shown.
const mostPublished = 100

// publish shows problems of d, if it is still the newest version.
func (s *Server) publish(d *snapshot, problems diag.List) {
	p := published{URI: d.uri, Version: d.version, Diagnostics: []diagnostic{}}
	for i := range problems[:min(len(problems), mostPublished)] {
		p.Diagnostics = append(p.Diagnostics, d.diagnosticOf(&problems[i]))
	}
	if s.current(d) {
		s.notify("textDocument/publishDiagnostics", p)
	}
}

// diagnosticOf returns p as the protocol has it. A problem of another file is shown on the first line.
func (d *snapshot) diagnosticOf(p *diag.Diagnostic) diagnostic {
	span := p.Span
	text := p.Text
	if span.Filename != "" && span.Filename != d.path {
		text = span.Pos.String() + ": " + text
		span = diag.Span{}
	}
	out := diagnostic{Range: d.rangeOf(span), Severity: 1, Code: string(p.Code), Source: "mscclc", Message: text}
	if p.Code.Warning() {
		out.Severity = 2
	}
	for _, n := range p.Notes {
		at, ok := d.locationOf(n.Span)
		if !ok {
			out.Message += "\nnote: " + n.Text
			continue
		}
		out.Related = append(out.Related, related{at, n.Text})
	}
	if p.Hint != "" {
		out.Message += "\nhint: " + p.Hint
	}
	return out
}

// locationOf returns where a span is, in d or in a file that it imports.
func (d *snapshot) locationOf(s diag.Span) (location, bool) {
	if s.Line == 0 {
		return location{}, false
	}
	if s.Filename == "" || s.Filename == d.path {
		return location{d.uri, d.rangeOf(s)}, true
	}
	other := d.server.other(s.Filename)
	if other == nil {
		return location{}, false
	}
	return location{other.uri, other.rangeOf(s)}, true
}

// other returns a file as the editor has it, or else as it is stored, or nil.
func (s *Server) other(path string) *snapshot {
	text, err := s.file(path)
	if err != nil || len(text) > maxDocument {
		return nil
	}
	return newSnapshot(s, uriOf(path), 0, text)
}

// problemsNow returns what is known to be wrong with d.
func (d *snapshot) problemsNow() diag.List {
	if p := d.proofNow(); p != nil {
		return p.problems
	}
	return d.analysis().problems
}

// judge returns what is wrong with a text in d's place, with the proof.
func (d *snapshot) judge(text []byte) diag.List {
	tree, err := syntax.ParseLimited(d.path, text, lightLimits)
	if err == nil && lang.IsLibrary(tree) {
		err = newSnapshot(d.server, d.uri, 0, text).checkLibrary()
	} else if err == nil {
		opt := mscclc.Options{Lang: d.langOptions(d.analysis().params, nil), Check: proofLimits, OneSided: true}
		_, err = mscclc.CompileFile(tree, opt)
	}
	return problemsOf(err)
}

// codeActions returns the hints of problems in a range that are edits, and certain.
func codeActions(d *snapshot, p *documentParams) (any, error) {
	actions := []codeAction{}
	list := d.problemsNow()
	from, to := d.offset(p.Range.Start), d.offset(p.Range.End)
	for i := range list {
		e := list[i].Fix
		if e == nil || e.Span.Filename != d.path {
			continue
		}
		at := d.start(e.Span)
		if at+len(e.Old) < from || at > max(to, from) || !e.Certain(d.text, list, d.judge) {
			continue
		}
		edit := textEdit{d.between(at, at+len(e.Old)), e.New}
		actions = append(actions, codeAction{Title: fmt.Sprintf("Replace %s by %s", e.Old, e.New), Kind: "quickfix",
			Diagnostics: []diagnostic{d.diagnosticOf(&list[i])}, Preferred: true,
			Edit: workspaceEdit{map[string][]textEdit{d.uri: {edit}}}})
	}
	return actions, nil
}

package play

import (
	"bytes"
	"fmt"
	"slices"

	"mscclc/ir/diag"
	"mscclc/ir/text"
)

// verdict says whether the program is right, in the words of mscclc verify.
func (b *builder) verdict() {
	v := &b.scene.Verdict
	b.found = b.found.Sort()
	name := diag.Printable(diag.Shorten(b.Name))
	switch {
	case len(b.found) > 0:
		v.State, v.Line = "rejected", fmt.Sprintf("FAIL  %s    %s", name, b.found.Summary())
	case b.proven:
		v.State, v.Line = "proven", fmt.Sprintf("ok    %s    %s%s", name, text.Proven(b.judged), b.overNodes())
	case b.large:
		v.State, v.Line = "unproven", fmt.Sprintf("%s    not proven here", name)
	default:
		v.State, v.Line = "nothing", fmt.Sprintf("ok    %s    library", name)
	}
	v.Text = b.printed(b.found) + b.printed(b.warned.FoldFiles())
	for _, list := range []diag.List{b.found, b.warned} {
		for i := range list {
			v.Problems = append(v.Problems, problemOf(&list[i]))
		}
	}
}

// overNodes says for which nodes a program is proven, or "" for one.
func (b *builder) overNodes() string {
	if !b.OneSided {
		return ""
	}
	nodes := b.domains(b.judged.Coll.Ranks)
	if nodes == nil {
		return ""
	}
	return fmt.Sprintf("; over %d nodes", slices.Max(nodes)+1)
}

// printed returns diagnostics as commands print them.
func (b *builder) printed(list diag.List) string {
	var out bytes.Buffer
	diag.Fprint(&out, list, b.textOf, false) // to memory, which never fails
	return out.String()
}

// textOf returns the text of a file, or nil.
func (b *builder) textOf(file string) []byte {
	if file == b.Name {
		if bytes.IndexByte(b.Text[:min(len(b.Text), 512)], 0) >= 0 {
			return nil // no text
		}
		return b.Text
	}
	src, err := b.Open(file)
	if err != nil {
		return nil
	}
	return src
}

func problemOf(d *diag.Diagnostic) Problem {
	p := Problem{Code: string(d.Code), Warning: d.Code.Warning(), Text: d.Text, Hint: d.Hint, At: spanOf(d.Span),
		Notes: []Note{}}
	for _, n := range d.Notes {
		p.Notes = append(p.Notes, Note{n.Text, spanOf(n.Span)})
	}
	return p
}

func spanOf(s diag.Span) Span { return Span{s.Filename, s.Line, s.Column, s.Len} }

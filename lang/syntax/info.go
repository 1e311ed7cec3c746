package syntax

import (
	"strings"

	"mscclc/ir/diag"
)

// An Info is what a file says of itself without being run.
type Info struct {
	Name       string // of the algorithm; "" for a library
	Doc        string // the comment at the top of the file, without its #
	Collective string // the kind of collective
	Protocol   string // as written, or ""
	Sizes      string // as written, or ""
	Params     []ParamInfo
	Functions  []string  // of a library and an algorithm
	Span       diag.Span // of the algorithm line
}

// A ParamInfo is one parameter and its default as it is written.
type ParamInfo struct{ Name, Default string }

// Info reads what f says of itself.
func (f *File) Info() Info {
	info := Info{Doc: f.doc()}
	for _, s := range f.Stmts {
		switch s := s.(type) {
		case *Algorithm:
			info.Name, info.Span = s.Name, s.Span()
			for _, p := range s.Params {
				d := ParamInfo{Name: p.Name}
				if p.Default != nil {
					d.Default = p.Default.source()
				}
				info.Params = append(info.Params, d)
			}
		case *Collective:
			info.Collective = s.Kind.Text
		case *Protocol:
			info.Protocol = s.Name.Text
		case *Sizes:
			info.Sizes = s.Min.source() + ".." + s.Max.source()
		case *Def:
			info.Functions = append(info.Functions, s.Name.Text)
		}
	}
	return info
}

// source is n's text in the one true format, on one line.
func (n *Node) source() string {
	f := File{}
	for _, t := range n.Tokens {
		if t.Type != tComment && t.Type != tBlank {
			f.Tokens = append(f.Tokens, t)
		}
	}
	p := &printer{items: f.items()}
	p.commas()
	p.layOut()
	return strings.TrimRight(string(p.bytes()), "\n")
}

// doc is the comment that f begins with.
func (f *File) doc() string {
	var lines []string
	next := 0 // the line that the comment would go on at
	for i := range f.Tokens {
		t := &f.Tokens[i]
		switch {
		case t.Type == tBlank:
		case t.Type == tComment && (next == 0 || t.Pos.Line == next):
			lines = append(lines, strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(t.Value, "#"), " "), " \t"))
			next = t.Pos.Line + 1
		default:
			return strings.Join(lines, "\n")
		}
	}
	return strings.Join(lines, "\n")
}

package syntax

import (
	"slices"
	"strings"

	"mscclc/ir/diag"

	"github.com/alecthomas/participle/v2/lexer"
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
	Named      []Named   // the named arguments of all calls, each once, in the order of their first
	Span       diag.Span // of the algorithm line
}

// A ParamInfo is one parameter and its default as it is written.
type ParamInfo struct{ Name, Default string }

// A Named is a named argument: its name, and the first word of its value.
type Named struct{ Name, Value string }

// Has reports whether f's algorithm has a parameter called name.
func (i *Info) Has(name string) bool {
	return slices.ContainsFunc(i.Params, func(p ParamInfo) bool { return p.Name == name })
}

// Header returns what the comment at the top of the file says in its line that begins with "key:", or "".
func (i *Info) Header(key string) string {
	for line := range strings.Lines(i.Doc) {
		if text, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// Info reads what f says of itself.
func (f *File) Info() Info {
	info := Info{Doc: f.doc(), Named: f.named()}
	for _, s := range f.Stmts {
		switch s := s.(type) {
		case *Algorithm:
			info.Name, info.Span = s.Name, s.Span()
			for _, p := range s.Params {
				d := ParamInfo{Name: p.Name}
				if p.Default != nil {
					d.Default = p.Default.Source()
				}
				info.Params = append(info.Params, d)
			}
		case *Collective:
			info.Collective = s.Kind.Text
		case *Protocol:
			info.Protocol = s.Name.Text
		case *Sizes:
			info.Sizes = s.Min.Source() + ".." + s.Max.Source()
		case *Def:
			info.Functions = append(info.Functions, s.Name.Text)
		}
	}
	return info
}

// named lists the named arguments of f.
func (f *File) named() (list []Named) {
	for _, s := range f.Stmts {
		if _, is := s.(*Algorithm); is {
			continue // its parameters are no arguments
		}
		depth, code := 0, slices.DeleteFunc(slices.Clone(s.Base().Tokens), func(t lexer.Token) bool {
			return t.Type == tComment || t.Type == tBlank || t.Type == tNewline
		})
		for i := range code {
			switch t := &code[i]; {
			case t.Value == "(":
				depth++
			case t.Value == ")":
				depth--
			case depth > 0 && t.Type == tIdent && i+2 < len(code) && code[i+1].Value == "=":
				if n := (Named{t.Value, code[i+2].Value}); !slices.Contains(list, n) {
					list = append(list, n)
				}
			}
		}
	}
	return list
}

// Source is n's text in the one true format, on one line.
func (n *Node) Source() string {
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

// doc returns the comment that f begins with.
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

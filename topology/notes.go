package topology

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/ir/diag"
)

// A Note says what a reader of a topology left out, or took for what the file does not say.
type Note struct {
	Line int // the first that it is about, or 0
	Text string
}

// A finding is one kind of note, with how many things it is about, and the names of some of them.
type finding struct {
	Note
	count int
	names []string
}

// mostNamed is how many things a note names.
const mostNamed = 4

// Findings collect the notes of a reader, one for each text.
type Findings struct{ list []*finding }

// Add says a text of a thing on a line. name is the thing's, or "".
func (n *Findings) Add(line int, text, name string) {
	at := slices.IndexFunc(n.list, func(f *finding) bool { return f.Text == text })
	if at < 0 {
		at, n.list = len(n.list), append(n.list, &finding{Note: Note{line, text}})
	}
	f := n.list[at]
	if f.count++; name != "" && len(f.names) <= mostNamed && !slices.Contains(f.names, name) {
		f.names = append(f.names, name)
	}
}

// All returns the notes, in the order of what was found first. Each says of how many things it is.
func (n *Findings) All() (list []Note) {
	for _, f := range n.list {
		text, names := f.Text, strings.Join(f.names[:min(len(f.names), mostNamed)], ", ")
		if len(f.names) > mostNamed {
			names += ", ..."
		}
		switch {
		case names != "":
			text = fmt.Sprintf("%s (%d: %s)", text, f.count, names)
		case f.count > 1:
			text = fmt.Sprintf("%s (%d)", text, f.count)
		}
		list = append(list, Note{f.Line, diag.Shorten(diag.Printable(text))})
	}
	return list
}

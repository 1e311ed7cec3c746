package diag

import (
	"fmt"
	"slices"
)

// Kinds gathers diagnostics of which each kind is to stand once, as its first, which says how many more there were. A kind is a
// code and the format of its text.
type Kinds struct{ found []kind }

type kind struct {
	Diagnostic
	format string
	more   int
}

// Add adds d, whose text was made by format.
func (k *Kinds) Add(d Diagnostic, format string) {
	if !k.More(d.Code, format) {
		k.found = append(k.found, kind{d, format, 0})
	}
}

// More says whether there is one of a kind, and if so that there is one more.
func (k *Kinds) More(code Code, format string) bool {
	i := slices.IndexFunc(k.found, func(f kind) bool { return f.Code == code && f.format == format })
	if i >= 0 {
		k.found[i].more++
	}
	return i >= 0
}

// List gives the first of each kind, in the order in which they came.
func (k *Kinds) List() List {
	var list List
	for _, f := range k.found {
		if f.more > 0 {
			f.Text += fmt.Sprintf(" (and %d more like it)", f.more)
		}
		list = append(list, f.Diagnostic)
	}
	return list
}

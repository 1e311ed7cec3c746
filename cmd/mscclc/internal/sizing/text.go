package sizing

import (
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir"
	"mscclc/ir/text"
)

// NoteOutside says which of some sizes p is not for. What mscclc chose itself by size needs no such note.
func NoteOutside(a *cli.App, arg string, p *ir.Program, sizes []int64) {
	var out []string
	for _, n := range sizes {
		if !p.Sizes.Holds(n) {
			out = append(out, cli.SizeText(n))
		}
	}
	if len(out) > 0 {
		a.Note(arg, "the program is for %s: a runtime takes another one for %s", text.Sizes(p.Sizes), cli.List(out))
	}
}

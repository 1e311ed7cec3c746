package sizing

import (
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/either"
	"mscclc/ir/text"
)

// NoteOutside says which of some sizes p is not for. What mscclc chose itself by size needs no such note.
func NoteOutside(a *cli.App, arg string, p *either.Program, sizes []int64) {
	if note := text.Outside(p.Sizes, sizes...); note != "" {
		a.Note(arg, "%s", note)
	}
}

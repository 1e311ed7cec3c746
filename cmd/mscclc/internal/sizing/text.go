package sizing

import (
	"fmt"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// Text names the sizes that a program is for: every size, sizes below 128 MiB, sizes from 1 KiB up to 1 MiB.
func Text(r ir.SizeRange) string {
	if r == (ir.SizeRange{}) {
		return "every size"
	}
	text, last, end := "sizes", boundText(r.Max-1), boundText(r.Max)
	if r.Min > 0 {
		text += " from " + boundText(r.Min)
	}
	round := func(size string) bool { return strings.HasSuffix(size, "iB") }
	switch {
	case r.Max == 0:
		return text + " on"
	case round(last) || !round(end): // a file may name the last that is good
		return text + " up to " + last
	case r.Min > 0:
		return text + " to below " + end
	}
	return text + " below " + end
}

// boundText returns a bound of a program's sizes: exact, and beside many bytes a rounded size.
func boundText(n int64) string {
	text := cli.SizeText(n)
	if n < 1<<20 || strings.Contains(text, "iB") {
		return text
	}
	return text + " (" + Rough(n) + ")"
}

// NoteOutside says which of some sizes p is not for. What mscclc chose itself by size needs no such note.
func NoteOutside(a *cli.App, arg string, p *ir.Program, sizes []int64) {
	var out []string
	for _, n := range sizes {
		if !p.Sizes.Holds(n) {
			out = append(out, cli.SizeText(n))
		}
	}
	if len(out) > 0 {
		a.Note(arg, "the program is for %s: a runtime takes another one for %s", Text(p.Sizes), cli.List(out))
	}
}

// Rough is n in three digits.
func Rough(n int64) string {
	for _, u := range diag.Units {
		if n >= 1<<u.Shift {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(int64(1)<<u.Shift), u.Name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

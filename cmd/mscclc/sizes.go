package main

import (
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir"

	"github.com/spf13/pflag"
)

// sizesText names the sizes that a program is for: every size, sizes below 128 MiB, sizes from 1 KiB up to 1 MiB.
func sizesText(r ir.SizeRange) string {
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
	return text + " (" + roughSize(n) + ")"
}

// noteOutside says which of some sizes p is not for. What mscclc chose itself by size needs no such note.
func (a *app) noteOutside(arg string, p *ir.Program, sizes []int64) {
	var out []string
	for _, n := range sizes {
		if !p.Sizes.Holds(n) {
			out = append(out, cli.SizeText(n))
		}
	}
	if len(out) > 0 {
		a.Note(arg, "the program is for %s: a runtime takes another one for %s", sizesText(p.Sizes), cli.List(out))
	}
}

// sizesFlag is --sizes, in bytes: 0..1G holds 1G-1, and not 1G, as the line of a file.
type sizesFlag struct{ sizes **ir.SizeRange }

// addSizes adds --sizes to the flags of a command.
func (c *compiling) addSizes(f *pflag.FlagSet) {
	f.Var(sizesFlag{&c.sizes}, "sizes",
		"compile for calls of `FROM..TO` bytes, TO excluded, instead of what the file says")
}

func (sizesFlag) String() string { return "" }

func (sizesFlag) Type() string { return "range" }

// Set reads a range.
func (f sizesFlag) Set(s string) error {
	low, high, ok := strings.Cut(s, "..")
	first, err1 := cli.ParseBytes(low)
	end, err2 := cli.ParseBytes(high)
	if !ok || err1 != nil || err2 != nil || first >= end {
		return cli.Usagef("write a range as 0..1G or 1K..64K, not %q", s)
	}
	*f.sizes = &ir.SizeRange{Min: first, Max: end}
	return nil
}

// noteDefault says that neither the file nor a flag ends the sizes, so that they end where t ends them.
func (a *app) noteDefault(name string, declared ir.SizeRange, t *codegen.Target) {
	if most := t.Limits.MaxBytes; declared.Max == 0 && most > 0 {
		a.Note(name, "it declares no sizes, and the default of %s ends below %s; for more give --sizes 0..1G, or write the line "+
			"sizes 0..1G", t.Name, cli.SizeText(most))
	}
}

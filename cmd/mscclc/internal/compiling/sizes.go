package compiling

import (
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir"

	"github.com/spf13/pflag"
)

// sizesFlag is --sizes, in bytes: 0..1G holds 1G-1, and not 1G, as the line of a file.
type sizesFlag struct{ sizes **ir.SizeRange }

// addSizes adds --sizes to the flags of a command.
func (c *Flags) addSizes(f *pflag.FlagSet) {
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
func noteDefault(a *cli.App, name string, declared ir.SizeRange, t *codegen.Target) {
	if most := t.Limits.MaxBytes; declared.Max == 0 && most > 0 {
		a.Note(name, "it declares no sizes, and the default of %s ends below %s; for more give --sizes 0..1G, or write the line "+
			"sizes 0..1G", t.Name, cli.SizeText(most))
	}
}

package cli

import (
	"fmt"
	"math"
	"sort"

	"mscclc/ir/diag"
	"mscclc/ir/either"

	"github.com/spf13/pflag"
)

// CTAs holds --ctas N of the commands that launch programs: N counts the CTAs of a rank, as NCCL_MAX_CTAS does.
type CTAs struct {
	total int
	flags *pflag.FlagSet
}

// Flags defines --ctas.
func (c *CTAs) Flags(f *pflag.FlagSet, usage string) {
	c.flags = f
	f.IntVar(&c.total, "ctas", 0, usage)
}

// Given reports whether the flag asks for a number.
func (c *CTAs) Given() bool { return c.total > 0 }

// UpTo returns the error of a value that is above most, or nil.
func (c *CTAs) UpTo(most int) error { return UpTo("ctas", c.total, most) }

// Check returns the error of a value that is too small, or nil, as where a command has no --ctas.
func (c *CTAs) Check() error {
	if c.flags == nil || !c.flags.Changed("ctas") {
		return nil
	}
	return From("ctas", c.total, 1)
}

// Replicas returns how many replicas of p's thread blocks the flag asks for: as many as fit into --ctas, or 0 where it
// is not given. Replicas share CTAs where shared. The note, or "", is for the user. It fails where none fits, or more
// than most.
func (c *CTAs) Replicas(p *either.Program, most int, shared bool) (n int, note string, err error) {
	blocks := max(1, p.CTAs(1, shared))
	ctas := func(n int) int { return max(n, p.CTAs(n, shared)) }
	if p.OneSided == nil {
		most = 1
	}
	switch {
	case !c.Given() && p.Shared() > 1 && !shared:
		return 0, noneShared, nil
	case !c.Given():
		return 0, "", nil
	case c.total < blocks:
		return 0, "", Usagef("--ctas %d has no room for a rank's %s", c.total, diag.Counted(blocks, "thread block")).Hint(
			"give --ctas %d or more", blocks)
	}
	if n = sort.Search(c.total, func(n int) bool { return ctas(n+1) > c.total }); p.OneSided == nil {
		n = 1
	}
	if (ctas(n) != c.total || p.Shared() > 1) && n <= most {
		note = fmt.Sprintf("--ctas %d: launched %d, which is %s of %s%s", c.total, ctas(n), diag.Counted(n, "replica"),
			diag.Counted(blocks, "thread block"), sharing(p, shared))
	}
	switch {
	case n <= most:
		return n, note, nil
	case most > math.MaxInt32/blocks:
		return 0, "", Usagef("--ctas goes up to %d replicas", most)
	}
	return 0, "", Usagef("--ctas goes up to %d here, for %s of %s", ctas(most), diag.Counted(most, "replica"),
		diag.Counted(blocks, "thread block"))
}

// sharing returns what a note says after the numbers of replicas and blocks where CTAs need not be their product.
func sharing(p *either.Program, shared bool) string {
	switch {
	case p.Shared() == 1:
		return ""
	case shared:
		return fmt.Sprintf(", of which some have %d replicas together in a CTA", p.Shared())
	}
	return "; " + noneShared
}

// noneShared is what a note says of a program whose replicas may share CTAs, where no device does so.
const noneShared = "replicas share no CTAs here"

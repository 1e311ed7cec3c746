package text

import (
	"fmt"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// This file says in a few words what a program is, and which sizes it is for.

// Title returns the collective of p, its name and its root, as messages have them: "broadcast chain from rank 2".
func Title(p *either.Program) string {
	name := KindName(p)
	if p.Name != "" {
		name += " " + diag.Printable(p.Name)
	}
	switch p.Coll.Kind {
	case ir.Broadcast, ir.Scatter:
		return fmt.Sprintf("%s from rank %d", name, p.Coll.Root)
	case ir.ReduceTo, ir.Gather:
		return fmt.Sprintf("%s to rank %d", name, p.Coll.Root)
	}
	return name
}

// Finished is Title, with the epilogue where p has one.
func Finished(p *either.Program) string {
	if len(p.Then) == 0 {
		return Title(p)
	}
	return fmt.Sprintf("%s, then %v", Title(p), p.Then)
}

// KindName returns the collective of p as the language calls it.
func KindName(p *either.Program) string {
	if p.Coll.Kind == ir.Opaque {
		return ir.Custom.String()
	}
	return p.Coll.Kind.String()
}

// Extent says how much of what p has.
func Extent(p *either.Program) string {
	ranks, blocks, steps := diag.Counted(p.Coll.Ranks, "rank"), diag.Counted(len(p.Blocks), "block"), diag.Counted(len(p.Steps), "step")
	if p.OneSided != nil {
		n := p.OneSided.Traffic()
		return fmt.Sprintf("%s, one-sided, %s, %s, %s, %s", ranks, blocks, steps, diag.Counted(n.Signals, "signal"),
			diag.Counted(n.Packets, "packet"))
	}
	return fmt.Sprintf("%s, %s, %s, %s", ranks, diag.Counted(p.Channels(), "channel"), blocks, steps)
}

// Proven says in a line what is proven of p.
func Proven(p *either.Program) string {
	name := Finished(p)
	if p.Coll.Kind == ir.Opaque {
		name += ", whose file states no result"
	}
	if p.InPlace && p.OutOfPlace {
		name += ", in place and out of place"
	}
	return fmt.Sprintf("proven: %s, %s; %s", Extent(p), Sizes(p.Sizes), name)
}

// Sizes names the sizes that a program is for: every size, sizes below 128 MiB, sizes from 1 KiB up to 1 MiB.
func Sizes(r ir.SizeRange) string {
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

// Outside says that a program is not for some of the sizes of calls, or "" where it is for all of them.
func Outside(r ir.SizeRange, sizes ...int64) string {
	var out []string
	for _, n := range sizes {
		if !r.Holds(n) {
			out = append(out, diag.SizeText(n))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return fmt.Sprintf("the program is for %s: a runtime takes another one for %s", Sizes(r), strings.Join(out, ", "))
}

// boundText returns a bound of a program's sizes: exact, and beside many bytes a rounded size.
func boundText(n int64) string {
	text := diag.SizeText(n)
	if n < 1<<20 || strings.Contains(text, "iB") {
		return text
	}
	return text + " (" + diag.RoughSize(n) + ")"
}

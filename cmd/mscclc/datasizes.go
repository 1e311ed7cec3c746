package main

import (
	"slices"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file leaves out sizes of which calls have no data.

// A measure says how many elements calls of a collective have: those of a piece are a multiple of unit.
type measure struct {
	coll  *ir.Collective
	dtype data.DType
	unit  int64
}

// measureOf is the measure of a program, whose chunks are equally long where even is true.
func measureOf(c *ir.Collective, t data.DType, even bool) measure {
	m := measure{c, t, 1}
	if even {
		m.unit = int64(max(c.Chunks, 1))
	}
	return m
}

// elems is how many elements a piece of a call of so many bytes has.
func (m measure) elems(bytes int64) int64 {
	n := data.PieceElems(m.coll, bytes, m.dtype)
	return n - n%max(m.unit, 1)
}

// least is how many bytes the smallest call with data has.
func (m measure) least() int64 { return callBytes(m.coll, max(m.unit, 1), m.dtype) }

// withData returns the sizes of which calls have data. If there is none it returns an error, whose hint names the flag
// of sizes.
func withData(sizes []int64, m measure, flag string) ([]int64, error) {
	kept := slices.DeleteFunc(slices.Clone(sizes), func(n int64) bool { return m.elems(n) == 0 })
	if len(kept) == 0 {
		return nil, tooSmall(sizes[len(sizes)-1], m.least(), flag)
	}
	return kept, nil
}

// noteEmptySizes notes which sizes are left out.
func (a *app) noteEmptySizes(sizes, kept []int64) {
	var left []string
	for _, n := range sizes {
		if !slices.Contains(kept, n) {
			left = append(left, cli.SizeText(n))
		}
	}
	if len(left) > 0 {
		a.Note("", "left out %s: calls so small have no element in each chunk", cli.List(left))
	}
}

// tooSmall says that a call of bytes has no element to compare, and that calls have some from least bytes on.
func tooSmall(bytes, least int64, flag string) error {
	d := diag.New(diag.NothingCompared, diag.Span{}, "nothing is compared: %s are no element of each chunk",
		cli.SizeText(bytes))
	return diag.List{d.WithHint("the smallest call with data is %s %d", flag, least)}
}

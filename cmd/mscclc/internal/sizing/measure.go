package sizing

import (
	"fmt"
	"slices"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file leaves out sizes of which calls have no data.

// A Measure says how many elements calls of a collective have: those of a piece are a multiple of Unit. Row is how many
// a row has, of a program with an epilogue, and else 0.
type Measure struct {
	Coll  *ir.Collective
	DType data.DType
	Unit  int64
	Row   int
}

// MeasureOf returns the measure of a program, whose chunks are equally long where even is true.
func MeasureOf(c *ir.Collective, t data.DType, even bool) Measure {
	m := Measure{Coll: c, DType: t, Unit: 1}
	if even {
		m.Unit = int64(max(c.Chunks, 1))
	}
	return m
}

// Elems returns how many elements a piece of a call of a given number of bytes has.
func (m Measure) Elems(bytes int64) int64 {
	n := data.PieceElems(m.Coll, bytes, m.DType)
	return n - n%max(m.Unit, 1)
}

// Least returns how many bytes the smallest call with data has.
func (m Measure) Least() int64 { return CallBytes(m.Coll, max(m.Unit, 1), m.DType) }

// WithData returns the sizes of which calls have data. If there is none it returns an error, whose hint has the
// size in the flags of sizes, which hold %[1]d.
func WithData(sizes []int64, m Measure, flag string) ([]int64, error) {
	kept := slices.DeleteFunc(slices.Clone(sizes), func(n int64) bool { return m.Elems(n) == 0 })
	if len(kept) == 0 {
		return nil, m.TooSmall(sizes[len(sizes)-1], flag)
	}
	return kept, nil
}

// lack says what calls that are too small do not have.
func (m Measure) lack() string {
	if m.Row > 0 {
		return fmt.Sprintf("no whole row of %s", diag.Counted(m.Row, "element"))
	}
	return "no element in each chunk"
}

// NoteEmpty notes which sizes are left out.
func (m Measure) NoteEmpty(a *cli.App, sizes, kept []int64) {
	var left []string
	for _, n := range sizes {
		if !slices.Contains(kept, n) {
			left = append(left, cli.SizeText(n))
		}
	}
	if len(left) > 0 {
		a.Note("", "left out %s: calls so small have %s", cli.List(left), m.lack())
	}
}

// TooSmall says that a call of bytes has nothing to compare, and which size has; flags is WithData's.
func (m Measure) TooSmall(bytes int64, flags string) error {
	d := diag.New(diag.NothingCompared, diag.Span{}, "nothing is compared: calls of %s have %s", cli.SizeText(bytes),
		m.lack())
	return diag.List{d.WithHint("the smallest call with data is "+flags, m.Least())}
}

// CallBytes returns what a call of elems elements a piece counts, in bytes.
func CallBytes(c *ir.Collective, elems int64, t data.DType) int64 {
	return elems * int64(c.Divisor()/max(c.Chunks, 1)) * int64(t.Size())
}

package play

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/eval"
)

// A WrongChunk is a chunk of an output that does not hold what the collective wants.
type WrongChunk struct {
	Rank, Index int
	Mark        string // "-" lacks inputs, "+" has some twice, "x" holds others, "0" holds nothing
	Text        string // what it must hold, what it does, and who wrote it
	Op          int32  // that wrote it last, or -1
}

// WrongOf returns the chunks of the outputs that x leaves wrong. Texts are of the first details of them.
func WrongOf(x *Algorithm, details int) (list []WrongChunk) {
	m := meaningOf(x, nil)
	m.values.Limit = 1 << 34
	m.cells.Wrong(m.values, func(rank int) int { return m.mem.Cell(rank, ir.Output, 0) },
		func(rank, index int, got eval.Value, want ir.Want, by int32) {
			w := WrongChunk{Rank: rank, Index: index, Mark: m.mark(got, want), Op: by}
			if len(list) < details {
				w.Text = fmt.Sprintf("output[%d] of rank %d must hold %s, but %s", index, rank, m.values.DescribeWant(want),
					m.values.Differs(got, want))
				if by >= 0 {
					w.Text += fmt.Sprintf("; operation %d wrote it, %v", by+1, x.Span(x.Ops[by].Pos).Pos)
				}
			}
			list = append(list, w)
		})
	return list
}

// mark returns how a chunk is wrong.
func (m *meaning) mark(got eval.Value, want ir.Want) string {
	if got == eval.None {
		return "0"
	}
	switch lacks, twice, sum := m.values.Unequal(got, want); {
	case !sum:
		return "x"
	case lacks != nil && twice == nil:
		return "-"
	case twice != nil && lacks == nil:
		return "+"
	}
	return "x"
}

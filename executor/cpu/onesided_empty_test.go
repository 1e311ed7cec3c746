//go:build cgo

package cpu

import (
	"fmt"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// TestOneSidedEmptyChunks runs programs whose ranks know only by packets how far others are, where
// some chunks of a pass are empty, or all but the first: who moves an empty chunk must wait for it as for any other,
// or it goes on to write packets that nobody has read yet.
func TestOneSidedEmptyChunks(t *testing.T) {
	for _, ranks := range []int{3, 8, 16} {
		p := exchange(ranks, ir.Protocol(ranks%3+1))
		l := loadOne(t, p, executor.Options{Replicas: 2, TileBytes: 64})
		last := int64(ranks - 2)
		for i := range 40 {
			elems := []int64{last * last, last, 1000, 1}[i%4] // the last chunk is empty, or has one element of 1000
			check(t, l, p.Coll, data.I64, data.Sum, elems, func(a *executor.Args) {
				a.Replicas, a.TileBytes, a.PerBlock = 1+i/4%2, 16, i/8%3
				a.Wait = covering.Patience(3 * time.Second)
				if i%2 == 0 {
					a.Threads = 1
				}
			})
		}
	}
}

// exchange has each rank but the last sum a chunk of everybody's input, and send it to the last, which
// packs up: nothing else signals between ranks.
func exchange(ranks int, proto ir.Protocol) *either.Program {
	root := ranks - 1
	b := newOne(fmt.Sprintf("exchange%d", ranks), &ir.Collective{Kind: ir.ReduceTo, Ranks: ranks, Chunks: root,
		Root: root, Inplace: true}, proto, 2, 0, ranks, 0)
	for r := range ranks {
		for k := 1; k < ranks; k++ {
			if q := (r + k) % ranks; q != root {
				b.move(r, 1, q, ops(at(r, ir.Input, q)), ops(at(q, ir.Packets, r)), joint(len(b.steps[r]) > 0))
			}
		}
		if r != root {
			b.move(r, 1, r, append(ops(at(r, ir.Input, r)), b.each(r,
				func(q int) onesided.Operand { return at(r, ir.Packets, q) })...), ops(at(root, ir.Packets, r)), ir.Final|ir.Joint)
		}
	}
	for q := range root {
		b.move(root, 1, q, ops(at(root, ir.Packets, q)), ops(at(root, ir.Output, q)), ir.Joint)
	}
	return b.program()
}

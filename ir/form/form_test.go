package form

import (
	"math"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// copied is a program of one rank that copies its input to its output.
func copied() *ir.Program {
	return &ir.Program{
		Header:   ir.Header{Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 2}},
		Channels: 1,
		Rank:     []ir.Range{{End: 1}},
		Blocks:   []ir.TB{{Block: ir.Block{SendPeer: -1, RecvPeer: -1}, Steps: ir.Range{End: 1}}},
		Steps:    []ir.Step{{Op: ir.Copy, SrcBuf: ir.Input, DstBuf: ir.Output, Count: 2, DepBlock: -1, DepStep: -1, Pos: -1}},
	}
}

func TestCheck(t *testing.T) {
	if found := Check(copied(), Bounds{Cells: 4, Moved: 2}); len(found) > 0 {
		t.Fatalf("a good program: %v", found)
	}
	for _, c := range []struct {
		edit func(*ir.Program)
		code diag.Code
		text string
	}{
		{func(p *ir.Program) { p.Rank = nil }, diag.Malformed, "blocks of 0"},
		{func(p *ir.Program) { p.Coll.Kind = ir.NumKinds }, diag.Malformed, "is none"},
		{func(p *ir.Program) { p.Coll.Root = 1 }, diag.Malformed, "root 1"},
		{func(p *ir.Program) { p.Channels = MaxChannels + 1 }, diag.Malformed, "65537 channels"},
		{func(p *ir.Program) { p.Scratch = []int32{math.MaxInt32} }, diag.Limit, "chunks, at most 4 are read"},
		{func(p *ir.Program) { p.Rank[0].End = 2 }, diag.Malformed, "has blocks 0 to 2"},
		{func(p *ir.Program) { p.Blocks[0].Steps.End = 0 }, diag.Malformed, "1 steps that belong to no rank"},
		{func(p *ir.Program) { p.Blocks[0].Channel = 1 }, diag.OutOfBounds, "on channel 1"},
		{func(p *ir.Program) { p.Steps[0].Op = ir.NumOps }, diag.Malformed, "is none"},
		{func(p *ir.Program) { p.Steps[0].Op = ir.Send }, diag.Malformed, "without that peer"},
		{func(p *ir.Program) { p.Steps[0].Src = 1 }, diag.OutOfBounds, "input chunks 1 to 2 are outside the rank's 2"},
		{func(p *ir.Program) { p.Steps[0].DepBlock = 1 }, diag.OutOfBounds, "which is none"},
		{func(p *ir.Program) { p.Steps = append(p.Steps, p.Steps[0]); p.Blocks[0].Steps.End = 2 }, diag.Limit, "the steps move 4 chunks"},
		{func(p *ir.Program) { p.OneSided = &ir.OneSided{} }, diag.Malformed, "has 0 copies"},
	} {
		p := copied()
		c.edit(p)
		found := Check(p, Bounds{Cells: 4, Moved: 2})
		if len(found) == 0 || found[0].Code != c.code || !strings.Contains(found[0].Text, c.text) {
			t.Errorf("%v, want [%s] with %q", found, c.code, c.text)
		}
	}
}

// TestCheckStops: a program of many faults gets as many messages as are printed.
func TestCheckStops(t *testing.T) {
	p := copied()
	for range 100 {
		p.Steps = append(p.Steps, ir.Step{Op: ir.NumOps})
	}
	p.Blocks[0].Steps.End = int32(len(p.Steps))
	if found := Check(p, Unbounded); len(found) != diag.Shown {
		t.Errorf("%d messages", len(found))
	}
}

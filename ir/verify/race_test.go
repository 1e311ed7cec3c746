package verify_test

import (
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/verify"

	"pgregory.net/rapid"
)

// anyRank returns a program of one rank whose blocks copy between a few chunks of
// scratch, with waits at random that cannot go round.
func anyRank(t *rapid.T) *either.Program {
	n := rapid.IntRange(2, 10).Draw(t, "steps")
	blocks := rapid.IntRange(2, 4).Draw(t, "blocks")
	p := either.OfFifo(&fifo.Program{Program: ir.Program{
		Header: ir.Header{Name: "x", Coll: &ir.Collective{Kind: ir.Opaque, Ranks: 1, Chunks: 1, In: 1,
			Out: 1}}, Scratch: []int32{4}}, Channels: 1})
	rows := make([][]ir.Step, blocks)
	type place struct{ block, step int32 }
	var all []place
	for range n {
		b := rapid.IntRange(0, blocks-1).Draw(t, "block")
		chunk := func() int32 { return int32(rapid.IntRange(0, 2).Draw(t, "chunk")) }
		s := ir.Step{Op: ir.Copy, SrcBuf: ir.Scratch, DstBuf: ir.Scratch, Src: chunk(), Count: 1, DepBlock: -1,
			DepStep: -1, Pos: -1}
		if s.Dst = chunk(); s.Dst == s.Src && rapid.Bool().Draw(t, "two") {
			s.Count = 2
		}
		if len(all) > 0 && rapid.Bool().Draw(t, "waits") {
			on := rapid.SampledFrom(all).Draw(t, "on")
			if on.block != int32(b) {
				s.DepBlock, s.DepStep = on.block, on.step
				rows[on.block][on.step].Flags = ir.HasDep
			}
		}
		all = append(all, place{int32(b), int32(len(rows[b]))})
		rows[b] = append(rows[b], s)
	}
	for _, row := range rows {
		first := int32(len(p.Steps))
		p.Steps = append(p.Steps, row...)
		p.Blocks = append(p.Blocks,
			ir.TB{Block: ir.Block{SendPeer: -1, RecvPeer: -1}, Steps: ir.Range{First: first, End: int32(len(p.Steps))}})
	}
	p.Rank = []ir.Range{{First: 0, End: int32(blocks)}}
	return p
}

// before says which steps must end before which others, by brute force.
func before(p *either.Program) [][]bool {
	n := len(p.Steps)
	r := make([][]bool, n)
	for i := range r {
		r[i] = make([]bool, n)
	}
	for _, b := range p.Blocks {
		for i := b.Steps.First; i < b.Steps.End; i++ {
			if i > b.Steps.First {
				r[i-1][i] = true
			}
			if s := &p.Steps[i]; s.DepBlock >= 0 {
				r[p.Blocks[s.DepBlock].Steps.First+s.DepStep][i] = true
			}
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				r[i][j] = r[i][j] || r[i][k] && r[k][j]
			}
		}
	}
	return r
}

func overlaps(a, b, n, m int32) bool { return a < b+m && b < a+n }

// Races are found where, and only where, two steps that conflict are in no
// order.
func TestRacesAgainstBruteForce(t *testing.T) {
	races, clean := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := anyRank(t)
		order, want := before(p), false
		for i := range p.Steps {
			for j := range i {
				a, b := &p.Steps[i], &p.Steps[j]
				conflict := overlaps(a.Dst, b.Dst, a.Count, b.Count) || overlaps(a.Dst, b.Src, a.Count, b.Count) ||
					overlaps(a.Src, b.Dst, a.Count, b.Count)
				want = want || conflict && !order[i][j] && !order[j][i]
			}
		}
		_, list := verify.Check(p, verify.Options{})
		got := false
		for _, d := range list {
			if d.Code != diag.Race && d.Code != diag.Uninitialized {
				t.Fatal(list)
			}
			got = got || d.Code == diag.Race
		}
		if got != want {
			t.Fatalf("races: %v, by brute force %v", got, want)
		}
		if want {
			races++
		} else {
			clean++
		}
	})
	if races < 10 || clean < 5 {
		t.Errorf("%d programs with races, %d without", races, clean)
	}
}

package core

import (
	"math/rand"
	"slices"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/ir/onesided"
)

// TestTogether lowers random programs over nodes in lanes, and holds of each block that replicas share a CTA where all
// its Moves copy to other nodes, and there only. But for that the program is the one without.
func TestTogether(t *testing.T) {
	shared, own := 0, 0
	for seed := range irtest.Count(t, 300) {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{})
		opt := Options{Lanes: 2 + rnd.Intn(15), Nodes: irtest.Nodes(rnd, c.Coll.Ranks), Together: 2 + 2*rnd.Intn(2)}
		p, err := Lower(c, opt)
		if isHint(err) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		for b := range p.Blocks {
			want := int32(0)
			if onlySends(p, &p.Blocks[b], opt.Nodes) {
				want = int32(opt.Together)
				shared++
			} else {
				own++
			}
			if got := p.Blocks[b].Together; got != want {
				t.Fatalf("seed %d, block %d: %d together, want %d\n%s", seed, b, got, want, programText(p))
			}
			p.Blocks[b].Together = 0
		}
		opt.Together = 0
		if plain, err := Lower(c, opt); err != nil || programText(plain) != programText(p) {
			t.Fatalf("seed %d: without, the program is another: %v", seed, err)
		}
	}
	if shared < 100 || own < 100 {
		t.Errorf("%d blocks share CTAs, and %d do not", shared, own)
	}
}

// onlySends reports whether a block has Moves, and all copy to other nodes.
func onlySends(p *onesided.Program, b *ir.TB, node []int32) bool {
	moves := slices.DeleteFunc(slices.Clone(p.StepsOf(b)), func(s ir.Step) bool { return s.Op != ir.Move })
	return len(moves) > 0 && !slices.ContainsFunc(moves, func(s ir.Step) bool {
		return s.NSrc > 1 || slices.ContainsFunc(p.Dests(&s), func(x onesided.Operand) bool {
			return x.Rank < 0 || node[x.Rank] == node[b.Rank]
		})
	})
}

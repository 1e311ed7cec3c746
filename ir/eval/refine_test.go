package eval

import (
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"

	"pgregory.net/rapid"
)

// What a sub-chunk must hold are the same sub-chunks of what its chunk must.
func TestRefine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := irtest.AnyCollective(t)
		c.PerRank, c.In, c.Out, c.Require = nil, c.Chunks, c.Chunks, nil
		if c.Kind == ir.Custom {
			c.Require = map[ir.Part][]ir.Part{{Rank: 0, Index: 0}: {{Rank: int32(c.Ranks - 1), Index: 0},
				{Rank: 0, Index: int32(c.Chunks - 1)}}}
		}
		s := ir.Split{Ways: int(irtest.Small(t, 1, 4)), Blocked: rapid.Bool().Draw(t, "blocked")}
		fine := c.Refine(s)
		v, w := NewValues(c), NewValues(fine)
		for r := range c.Ranks {
			if fine.OutChunks(r) != c.OutChunks(r)*s.Ways || fine.InChunks(r) != c.InChunks(r)*s.Ways {
				t.Fatalf("%v: %d chunks", fine, fine.OutChunks(r))
			}
			for i := range c.OutChunks(r) {
				for k := range s.Ways {
					coarse, sub := c.Want(r, i), fine.Want(r, s.Index(i, k, c.Chunks))
					if coarse.Any != sub.Any || len(v.wanted(coarse)) != len(w.wanted(sub)) {
						t.Fatalf("%v: %v becomes %v", c, coarse, sub)
					}
					for n, x := range v.wanted(coarse) {
						p := v.partAt(x)
						want := ir.Part{Rank: p.Rank, Index: int32(s.Index(int(p.Index), k, c.Chunks))}
						if got := w.partAt(w.wanted(sub)[n]); got != want {
							t.Fatalf("%v, %v: part %d of %d[%d] is %v, of the chunk %v", c, s, k, r, i, got, p)
						}
					}
				}
			}
		}
	})
}

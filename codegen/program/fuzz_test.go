package program

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/ir"
	"mscclc/ir/either"
)

// FuzzRead mends the sums of what it is given, so that the numbers after
// them are reached.
func FuzzRead(f *testing.F) {
	for _, p := range []*either.Program{codegentest.Pairs(), codegentest.Ring(3), codegentest.Rooted(ir.Gather, true),
		codegentest.Chain(3), codegentest.Swap()} {
		f.Add(Encode(p))
	}
	c := codegentest.Pairs()
	c.Coll = &ir.Collective{Kind: ir.Custom, Ranks: 2, Chunks: 1, In: 1, Out: 1,
		Require: map[ir.Part][]ir.Part{{Rank: 0, Index: 0}: {{Rank: 1, Index: 0}}}}
	f.Add(Encode(c))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		reseal(b)
		p, err := Decode("x.mprog", b, codegen.ReadOptions{MaxCells: 1 << 20, MaxMoved: 1 << 20})
		if err != nil {
			return
		}
		again, err := Decode("x.mprog", Encode(p), codegen.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatal(diff)
		}
		var j bytes.Buffer
		if err := WriteJSON(&j, p); err != nil {
			t.Fatal(err)
		}
	})
}

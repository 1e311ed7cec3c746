package bundle

import (
	"math/rand"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/codegen/program"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
)

// TestRoom holds that memory never makes a tile shorter than its rule says, or than a replica's share: of calls of
// random sizes, at all ranks and types of a bundle.
func TestRoom(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for _, n := range []int{2, 3, 8} {
		b := ladder(t, n)
		for _, r := range b.Sets[0].Rules {
			p := b.Programs[r.Program]
			q, err := program.Decode(p.Title(), p.Source, codegen.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			img, err := abi.NewImage(q)
			if err != nil {
				t.Fatal(err)
			}
			if err := img.One.Reserve(int(p.Replicas), int64(p.Tile)); err != nil {
				t.Fatal(err)
			}
			for range 50 {
				bytes := int64(min(r.UpTo, 1<<30)) >> rnd.Intn(12)
				dtype := []data.DType{data.F32, data.BF16}[rnd.Intn(2)]
				elems := max(1, data.PieceElems(q.Coll, bytes-int64(rnd.Intn(3)*dtype.Size()), dtype))
				call, err := img.One.Params(data.NewGeometry(q.Coll, elems, dtype.Size()), dtype, data.Sum, int(r.Replicas),
					int64(r.Tile))
				if err != nil || call.Tile != min(r.Tile, call.Share) {
					t.Fatalf("%s, %d elements of %v: tile %d, share %d: %v", p.Title(), elems, dtype, call.Tile, call.Share, err)
				}
			}
		}
	}
}

// TestTooLarge holds that the programs that take the room of an arena are listed.
func TestTooLarge(t *testing.T) {
	rule := Forward(ir.Gather, 8)
	rule.Program, rule.Protocol, rule.Tile = "gather/direct", ir.LL128, 64<<10
	_, err := Build(Spec{Device: "x", Ranks: []int{8}, DTypes: []data.DType{data.F32}, Rules: []Rule{rule}})
	if err == nil || !strings.Contains(err.Error(), "MiB of a rank's memory, and a bundle has at most 256 MiB") {
		t.Errorf("%v", err)
	}
}

// TestTypes holds which images types have: one to reduce where they are not fp8, and one to move for each size.
func TestTypes(t *testing.T) {
	all := make([]data.DType, data.NumDTypes)
	for i := range all {
		all[i] = data.DType(i)
	}
	for _, types := range [][]data.DType{all, {data.E4M3}, {data.E5M2, data.F32}, {data.I64, data.F64}} {
		b, err := Build(Spec{Device: "x", Ranks: []int{2}, DTypes: types, Rules: Ladder(2, DefaultCTAs)})
		if err != nil {
			t.Fatal(err)
		}
		if b, err = Decode("x", Encode(b)); err != nil {
			t.Fatal(err)
		}
		s := &b.Sets[0]
		for _, dtype := range types {
			copier := s.Copier[dtype]
			if (s.Image[dtype] == none) == reduced(dtype) || copier == none ||
				b.Images[copier].DType.Size() != dtype.Size() {
				t.Errorf("of %v, %v has images %d and %d", types, dtype, s.Image[dtype], copier)
			}
		}
	}
}

package bundle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms/choose"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// uneven is an AllToAllV: rank r sends (r + 2q) % 3 chunks to rank q.
const uneven = `algorithm uneven(ranks = 3)
collective custom(ranks, input = 6, output = 6) {
    for r in 0..ranks, q in 0..ranks if count(r, q) > 0 {
        require chunk(q, output, to(q, r), count(r, q)) == chunk(r, input, from(r, q), count(r, q))
    }
}

def count(r, q) = (r + 2 * q) % 3
def from(r, q) {
    let n = 0
    for k in 0..q { n = n + count(r, k) }
    return n
}
def to(q, r) {
    let n = 0
    for k in 0..r { n = n + count(k, q) }
    return n
}
for r in 0..ranks, q in 0..ranks if count(r, q) > 0 {
    chunk(r, input, from(r, q), count(r, q)).copy(q, output, to(q, r))
}
`

// ownNamed is user programs with uneven alone.
func ownNamed() choose.UserPrograms {
	return choose.UserPrograms{{Name: "uneven.mscl", File: "uneven.mscl", Tree: treeOf("uneven.mscl", uneven),
		Options: mscclc.Options{Lang: lang.Options{}}}}
}

var namedSpecs = []NamedSpec{{Name: "a2av", Program: "uneven.mscl"}, {Name: "halo", Program: "halo/direct"},
	{Name: "gather", Program: "allgather/ring"}, {Name: "to rank 1", Program: "scatter/direct", Params: lang.Params{"root": 1}}}

// TestNamed: programs of custom and of other collectives get into a bundle under names, and Decode and Verify know
// them.
func TestNamed(t *testing.T) {
	b, err := Build(Spec{Device: "d", Ranks: []int{2, 3}, DTypes: []data.DType{data.F32}, Own: ownNamed(),
		Named: namedSpecs})
	if err != nil {
		t.Fatal(err)
	}
	text := Encode(b)
	out, _, err := Verify("x", text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range out.Programs {
		got = append(got, p.Named.Name)
	}
	want := []string{"a2av", "halo", "gather", "to rank 1"}
	if !slices.Equal(got, append(want, want...)) {
		t.Errorf("the programs are %q", got)
	}
	p := out.Programs[4]
	if p.kind() != ir.Custom || p.OutOfPlace != 1 || p.InPlace != 1 || !slices.Equal(p.Named.In, []uint32{6, 6, 6}) {
		t.Errorf("%+v is %v out of place %d", p.Named, p.kind(), p.OutOfPlace)
	}
	if p = out.Programs[7]; p.Root != 1 || !slices.Equal(p.Named.In, []uint32{0, 3, 0}) || p.InPlace != 1 {
		t.Errorf("the scatter is %+v of root %d", p.Named, p.Root)
	}
	if info := out.Info(); info.Sets[1].Programs[0].Name != "a2av" || len(info.Sets[1].Programs[0].Buffers) != 2 {
		t.Errorf("Info says %+v", info.Sets[1].Programs[0])
	}
}

// TestNamedRefused: what cannot be in a bundle under a name is refused, with what to do.
func TestNamedRefused(t *testing.T) {
	wrong := ownNamed()
	wrong[0].Tree = treeOf("uneven.mscl", strings.Replace(uneven, "to(q, r))\n}\n", "0)\n}\n", 1))
	for _, c := range []struct {
		own   choose.UserPrograms
		named []NamedSpec
		want  string
	}{
		{nil, []NamedSpec{{Name: "x", Program: "halo/none"}}, "no program"},
		{nil, []NamedSpec{{Name: "", Program: "halo/direct"}}, "of name"},
		{nil, []NamedSpec{{Name: "x", Program: "halo/direct"}, {Name: "x", Program: "halo/direct"}}, "no other has it"},
		{nil, []NamedSpec{{Name: strings.Repeat("x", 64), Program: "halo/direct"}}, "of name"},
		{wrong, []NamedSpec{{Name: "x", Program: "uneven.mscl"}}, "output"},
	} {
		_, err := Build(Spec{Device: "d", Ranks: []int{3}, DTypes: []data.DType{data.F32}, Own: c.own, Named: c.named})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, and not %q", c.named, err, c.want)
		}
	}
}

// TestNamedLied: Verify rejects a bundle whose names lie about buffers.
func TestNamedLied(t *testing.T) {
	b, err := Build(Spec{Device: "d", Ranks: []int{3}, DTypes: []data.DType{data.F32}, Own: ownNamed(),
		Named: namedSpecs[:1]})
	if err != nil {
		t.Fatal(err)
	}
	named := b.Programs[0].Named
	named.Out = []uint32{5, 6, 6}
	if _, _, err := Verify("x", Encode(b)); err == nil || !strings.Contains(err.Error(), "buffers are not") {
		t.Errorf("Verify says %v", err)
	}
	named.Out = []uint32{7, 6, 6}
	if _, err := Decode("x", Encode(b)); err == nil || !strings.Contains(err.Error(), "7 units") {
		t.Errorf("Decode says %v", err)
	}
}

// TestNamedOutsider: an AllToAllV that somebody else has written gets into a bundle as it is.
func TestNamedOutsider(t *testing.T) {
	name := filepath.Join("..", "..", "shared", "data", "reports", "mscl", "unequal_alltoall.mscl")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Skip(err)
	}
	own := choose.UserPrograms{{Name: "unequal_alltoall.mscl", File: name, Tree: treeOf(name, string(text))}}
	b, err := Build(Spec{Device: "d", Ranks: []int{4}, DTypes: []data.DType{data.F32}, Own: own,
		Named: []NamedSpec{{Name: "a2av", Program: "unequal_alltoall.mscl"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Verify("x", Encode(b)); err != nil {
		t.Error(err)
	}
}

// treeOf returns the syntax tree of a text.
func treeOf(name, text string) *syntax.File {
	tree, err := syntax.Parse(name, []byte(text))
	if err != nil {
		panic(err)
	}
	return tree
}

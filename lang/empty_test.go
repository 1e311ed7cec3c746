package lang

import (
	"testing"

	"mscclc/ir"
	"mscclc/lang/syntax"
)

// none is an AllToAllV whose counts may be 0, without a condition for them.
const none = `algorithm a2av(ranks = 4)
collective custom(ranks, input = 10, output = 10) {
    for r in 0..ranks, q in 0..ranks {
        require chunk(q, output, roff(q, r), count(r, q)) == chunk(r, input, soff(r, q), count(r, q))
    }
}
def count(r, q) = (r + 2 * q) % 4
def soff(r, q) {
    let n = 0
    for k in 0..q { n = n + count(r, k) }
    return n
}
def roff(q, r) {
    let n = 0
    for k in 0..r { n = n + count(k, q) }
    return n
}
for r in 0..ranks, q in 0..ranks {
    let sent = chunk(r, input, soff(r, q), count(r, q)).copy(q, output, roff(q, r))
    assert(sent.count == count(r, q), "sent")
    let all = [sent[0..0], sent[sent.count..sent.count]]
    all[0].copy([0, 1], output, 0)
    let sum = reduce(all, q, output, 10)
    sum.reduce(all)
    assert(sum.count == 0, "sum")
}
`

// TestEmpty: references to no chunks do nothing, at both levels.
func TestEmpty(t *testing.T) {
	f, err := syntax.Parse("none.mscl", []byte(none))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Expand(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for r := range 4 {
		for q := range 4 {
			if (r+2*q)%4 > 0 {
				want++
			}
		}
	}
	if len(d.Ops) != want {
		t.Errorf("%d operations, want %d", len(d.Ops), want)
	}
	for i := range d.Ops {
		if d.Ops[i].Count == 0 {
			t.Errorf("operation %d has no chunks", i)
		}
	}
	p := mustExpandChannels(t, "none.mscl", `algorithm none(ranks = 2)
collective allreduce(ranks, chunks = 1, inplace = true)
scratch got[2]
for r in 0..2 {
    let c = channel(r, 1 - r)
    c.put(chunk(r, input, 1, 0), got, 0, tb = 0)
    chunk(r, input, 0, 0).copy(r, got, 2, tb = 0)
    chunk(r, input, 0, 0).reduce(chunk(r, got, 0, 0), tb = 0)
    c.put(chunk(r, input, 0), got, r, tb = 0)
    c.signal(tb = 0)
    c.wait(tb = 0)
    chunk(r, input, 0).reduce(chunk(r, got, 1 - r), tb = 0)
}
`, nil)
	for r := range p.Ranks {
		if n := len(p.Ranks[r].Blocks[0]); n != 4 {
			t.Errorf("rank %d has %d operations, want 4: %+v", r, n, p.Ranks[r].Blocks[0])
		}
		for _, op := range p.Ranks[r].Blocks[0] {
			if op.Kind == ir.ChMove && op.Dsts[0].Count == 0 {
				t.Error("an operation has no chunks")
			}
		}
	}
}

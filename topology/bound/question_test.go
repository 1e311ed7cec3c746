package bound_test

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"mscclc/ir"
	"mscclc/topology"
	"mscclc/topology/bound"
)

// TestErrors holds what is said of questions that have no bound.
func TestErrors(t *testing.T) {
	oneWay := direct(3, 0, []line{{0, 1, 5}, {1, 2, 5}, {2, 1, 5}})
	apart := direct(4, 0, both(line{0, 1, 5}, line{2, 3, 5}))
	empty := direct(2, 0, []line{{0, 1, 0}, {1, 0, 5}})
	huge := direct(2, 0, both(line{0, 1, 1 << 30}))
	huge.Classes[0].Bandwidth = 1e12
	h200 := machine(t, "h200")
	for _, c := range []struct {
		on   *topology.Topology
		q    bound.Question
		want string
	}{
		{oneWay, bound.Question{Kind: ir.AllGather}, "no path from rank 1 to rank 0"},
		{oneWay, bound.Question{Kind: ir.ReduceTo}, "no path from rank 1 to rank 0"},
		{apart, bound.Question{Kind: ir.AllReduce}, "no path from rank 0 to rank 2"},
		{empty, bound.Question{Kind: ir.AllToAll}, "no path from rank 0 to rank 1"},
		{huge, bound.Question{Kind: ir.AllGather}, "has a bandwidth of"},
		{h200, bound.Question{Kind: ir.AllGather, GPUs: []int32{3}}, "1 GPU moves nothing"},
		{h200, bound.Question{Kind: ir.SendRecv}, "sendrecv has no bound"},
		{h200, bound.Question{Kind: ir.AllGather, GPUs: []int32{3, 9}}, "GPU 9 is none of them"},
		{h200, bound.Question{Kind: ir.AllGather, GPUs: []int32{3, 3}}, "GPU 3 is named twice"},
		{h200, bound.Question{Kind: ir.Broadcast, Root: 8}, "root 8 is none of 8 ranks"},
		{h200, bound.Question{Kind: ir.AllReduce, Weights: make([]int64, 8)}, "allreduce has no weights"},
		{h200, bound.Question{Kind: ir.AllGather, Weights: make([]int64, 8)}, "all weights are 0"},
		{h200, bound.Question{Kind: ir.AllGather, Weights: []int64{1}}, "1 weight for 8 ranks"},
		{h200, bound.Question{Kind: ir.AllGather, Weights: []int64{1 << 62, 1 << 62, 1, 1, 1, 1, 1, 1}}, "too large"},
	} {
		b, err := bound.Of(context.Background(), c.on, c.q)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: bound %v, error %v, want %q", c.q.Kind, b, err, c.want)
		}
	}
	if _, err := bound.Of(context.Background(), h200, bound.Question{Kind: ir.SendRecv}); !errors.Is(err, bound.ErrNone) {
		t.Errorf("%v is not ErrNone", err)
	}
	if b := of(t, oneWay, bound.Question{Kind: ir.Broadcast}); b.Rate.Cmp(big.NewRat(5, 1)) != 0 {
		t.Errorf("Broadcast over one-way links has %s", b.Rate)
	}
}

// TestParts holds bounds of some ranks of a machine, of unequal parts and of broken links.
func TestParts(t *testing.T) {
	m := machine(t, "h200:nodes=2")
	some := []int32{0, 1, 2, 3, 8, 9, 10, 11}
	broken, err := m.Without([]string{"node1.nic[0]", "nic[2]-rail", "0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		on   *topology.Topology
		q    bound.Question
		num  int64
		den  int64
		cut  string
	}{
		{"others relay", m, bound.Question{Kind: ir.AllReduce, GPUs: some, NoRelay: true}, 192000, 1,
			"the links between node 0 and node 1"},
		{"no relays", m, bound.Question{Kind: ir.AllGather, GPUs: some, NoRelay: true}, 384000, 1,
			"the links between node 0 and node 1"},
		{"relays", m, bound.Question{Kind: ir.AllGather, GPUs: some}, 8 * 418000, 7, "each rank's links"},
		{"one node", m, bound.Question{Kind: ir.AllGather, GPUs: some[:4]}, 4 * 370000, 3, "each rank's links"},
		{"one rank has all", m, bound.Question{Kind: ir.AllGather, Weights: []int64{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
			384000, 1, "the links between node 0 and node 1"},
		{"six NICs", broken, bound.Question{Kind: ir.Broadcast, GPUs: some[1:], Root: 1}, 6 * 48000, 1,
			"the links between node 0 and node 1"},
	} {
		if b := of(t, c.on, c.q); b.Rate.Cmp(big.NewRat(c.num, c.den)) != 0 || b.Cut != c.cut || !b.Exact {
			t.Errorf("%s: %s, %q, exact %v; want %d/%d, %q", c.name, b.Rate, b.Cut, b.Exact, c.num, c.den, c.cut)
		}
	}
}

// TestLimit holds that a search that is stopped gives a bound that is valid, and says that it is not exact.
func TestLimit(t *testing.T) {
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	m := machine(t, "dgx1v:nodes=2")
	for _, kind := range bound.Kinds {
		b, err := bound.Of(ctx, m, bound.Question{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		if full := of(t, m, bound.Question{Kind: kind}); b.Rate.Cmp(full.Rate) < 0 || b.Exact {
			t.Errorf("%v: stopped at %s, exact %v; the bound is %s", kind, b.Rate, b.Exact, full.Rate)
		}
	}
}

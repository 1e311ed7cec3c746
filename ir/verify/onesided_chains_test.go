package verify_test

import (
	"math/rand"
	"testing"

	"mscclc"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	explorer "mscclc/ir/verify/explore/onesided"
	"mscclc/ir/verify/onesided"
)

// TestChains asks that clocks of fewer counts change nothing that is said of programs: of the catalog's with lanes,
// over two nodes and over one, of random ones, and of what some changes make of each.
func TestChains(t *testing.T) {
	var own, other, counts, none, rejected int
	judge := func(name string, p *either.Program, node []int32) {
		var with, without string
		_, list := verify.Check(p, verify.Options{Nodes: node})
		with = irtest.Text(list)
		onesided.Unchained(func() {
			_, list := verify.Check(p, verify.Options{Nodes: node})
			without = irtest.Text(list)
		})
		if with != without {
			t.Fatalf("%s, nodes %v: %s\nwithout chains: %s\n%s", name, node, with, without, textOf(t, p))
		}
		if len(list) > 0 {
			rejected++
			return
		}
		n := [4]int{}
		n[0], n[1], n[2], n[3] = onesided.Chains(p.OneSided, node)
		own, other, counts, none = own+n[0], other+n[1], counts+n[2], none+n[3]
	}
	vary := func(name string, p *either.Program, node []int32, rnd *rand.Rand, times int) {
		judge(name, p, node)
		for range times {
			change := &explorer.Mutations[rnd.Intn(len(explorer.Mutations))]
			if q, ok := change.Change(rnd, p.OneSided); ok {
				judge(name+", "+change.Name, either.OfOneSided(q), node)
			}
		}
	}
	for lanes := 2; lanes <= 8; lanes *= 2 {
		for _, over := range []bool{false, true} {
			set := func(o *mscclc.Options) {
				if o.OneSided, o.Core.Lanes = true, lanes; over {
					o.Nodes = halves
				}
			}
			for k, o := range loweredCatalog(t, set, ir.Simple, ir.LL) {
				var node []int32
				if over {
					node, _ = halves(o.p.Coll.Ranks)
				}
				vary(o.name, o.p, node, rand.New(rand.NewSource(int64(k))), irtest.Count(t, 4))
			}
		}
	}
	for seed := range int64(irtest.Count(t, 100)) {
		rnd := rand.New(rand.NewSource(seed))
		p, node := explorer.RandomOver(rnd)
		vary("random", either.OfOneSided(p), node, rnd, 8)
		vary("random", either.OfOneSided(explorer.Random(rnd)), nil, rnd, 8)
	}
	t.Logf("%d blocks take over from one of their rank, and %d of another; %d pairs have a count, and %d none; "+
		"%d programs rejected", own, other, counts, none, rejected)
	if min(own, other, counts, none) < 20 || rejected < 100 {
		t.Error("too little was judged to say anything")
	}
}

// halves returns the node of each of n ranks, of two nodes.
func halves(ranks int) ([]int32, error) {
	node := make([]int32, ranks)
	for r := range node {
		node[r] = int32(r * 2 / ranks)
	}
	return node, nil
}

package core

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/onesided"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/passes/passestest"
)

// overNodes lowers c for the nodes of opt, and proves the result for them. Launches of one pass are proven too.
func overNodes(c *ir.ChunkDAG, opt Options) (*onesided.Program, error) {
	p, err := lowered(c, opt)
	if err != nil {
		return p, err
	}
	return p, verify.AcrossNodes(either.OfOneSided(p), opt.Nodes).Err()
}

// dealt deals ranks to a number of nodes, in blocks or in turn.
func dealt(ranks, nodes int, turns bool) []int32 {
	node := make([]int32, ranks)
	for r := range node {
		if node[r] = int32(r * nodes / ranks); turns {
			node[r] = int32(r % nodes)
		}
	}
	return node
}

// TestAcrossNodesCatalog lowers every program of the catalog and of the examples for several nodes, and asks for the
// proof. Programs of packets have them within nodes, and scratch between.
func TestAcrossNodesCatalog(t *testing.T) {
	n, refused, mixed := 0, 0, 0
	for _, file := range passestest.Catalog(t) {
		for _, shape := range []string{"2 1 2", "4 2 2", "6 3 2"} {
			c := file.Expand(t, shape, false)
			if c == nil {
				continue
			}
			for k := range 8 {
				c.Protocol = []ir.Protocol{ir.Simple, ir.LL}[k/4]
				opt := Options{Nodes: dealt(c.Coll.Ranks, 2+k%2, k&2 > 0), OnePass: k%3 == 1, Staged: k%4 == 2,
					Lanes: 1 + k%3*2}
				p, err := overNodes(c, opt)
				if isHint(err) {
					refused++
					continue
				}
				if err != nil {
					t.Fatalf("%s %s, %v, %+v: %v\n%.5000s", file.Name, shape, c.Protocol, opt, err, programText(p))
				}
				if n++; within(p) {
					mixed++
				}
			}
		}
	}
	t.Logf("%d programs, %d with packets and scratch; %d use the switch", n, mixed, refused)
	if n < 500 || mixed < 50 || refused > n/5 {
		t.Error("too few were judged to say anything")
	}
}

// within reports whether p has packets and scratch.
func within(p *onesided.Program) bool {
	packets, scratch := 0, 0
	for r := range p.Rank {
		packets, scratch = packets+p.PacketsOf(r), scratch+p.ScratchOf(r)
	}
	return packets > 0 && scratch > 0
}

// TestAcrossNodesRandom lowers random legal programs for random nodes, and asks for their proofs. Lowered for one node
// and staged, which is all that it takes for messages to carry their data, some break the rule.
func TestAcrossNodesRandom(t *testing.T) {
	broken, staged := 0, 0
	for seed := range irtest.Count(t, covering.Share(600)) {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{})
		c.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
		node := make([]int32, c.Coll.Ranks)
		for r := range node {
			node[r] = int32(rnd.Intn(3))
		}
		opt := Options{Nodes: node, OnePass: seed%2 == 1, Staged: seed%3 == 1, Lanes: 1 + seed%5}
		if p, err := overNodes(c, opt); err != nil && !isHint(err) {
			var b bytes.Buffer
			text.WriteChunks(&b, c)
			t.Fatal(fmt.Sprintf("seed %d, nodes %v: %v\n", seed, node, err), b.String(), programText(p))
		}
		c.Protocol = ir.Simple
		if p, err := lowered(c, Options{Staged: true}); err == nil {
			staged++
			if len(verify.AcrossNodes(either.OfOneSided(p), node)) > 0 {
				broken++
			}
		}
	}
	t.Logf("of %d programs that are staged for one node, %d break the rule", staged, broken)
	if broken == 0 || broken == staged {
		t.Error("the rule asks for nothing, or for too much")
	}
}

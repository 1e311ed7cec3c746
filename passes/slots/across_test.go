package slots_test

import (
	"testing"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/passes/fifo"
	"mscclc/passes/passestest"
	"mscclc/passes/slots"
)

// nodeMaps deals ranks to each number of nodes, in equal blocks as far as that goes, and in turn.
func nodeMaps(ranks int) (maps [][]int32) {
	for nodes := 2; nodes <= ranks; nodes++ {
		blocks, turns := make([]int32, ranks), make([]int32, ranks)
		for r := range ranks {
			blocks[r], turns[r] = int32(r*nodes/ranks), int32(r%nodes)
		}
		maps = append(maps, blocks, turns)
	}
	return maps
}

// compiledCatalog calls f with the two-sided programs of the catalog, in protocol Simple.
func compiledCatalog(t *testing.T, f func(name string, p *ir.Program)) {
	for _, file := range passestest.Catalog(t) {
		for k, shape := range []string{"4 2 2", "6 3 2", "8 2 4"} {
			c := file.Expand(t, shape, false)
			if c == nil {
				continue
			}
			c.Protocol = ir.Simple
			d, err := fifo.Lower(c, fifo.Options{Instances: 1 + k%2})
			if err == nil {
				err = fifo.Run(d, fifo.Options{})
			}
			if err != nil {
				continue // hints that do not fit
			}
			p, err := codegen.Assemble(d)
			if err != nil {
				t.Fatal(err)
			}
			f(file.Name, p)
		}
	}
}

// TestAcrossNodes holds that lowered programs keep to the rule for data of other nodes, however ranks are dealt to
// nodes, and that none does whose receiver hears of the data by a third rank.
func TestAcrossNodes(t *testing.T) {
	var programs, maps, relayed int
	compiledCatalog(t, func(name string, p *ir.Program) {
		g, err := slots.Lower(p, slots.Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		programs++
		for _, node := range nodeMaps(g.Coll.Ranks) {
			maps++
			if found := verify.AcrossNodes(g, node); len(found) > 0 {
				t.Fatalf("%s over %v: %v", name, node, found)
			}
		}
		node := nodeMaps(g.Coll.Ranks)[programs%2]
		for third := range int32(3) {
			q := viaThird(g, node, third+int32(programs))
			if q == nil {
				continue
			}
			relayed++
			if _, found := verify.Check(q, verify.Options{}); len(found) > 0 {
				t.Fatalf("%s: with one node, what a third rank tells is enough: %v", name, found)
			}
			found := verify.AcrossNodes(q, node)
			if len(found) == 0 || found[0].Code != diag.AcrossNodes {
				t.Fatalf("%s over %v: a third rank tells of the data, and the proof says %v", name, node, found)
			}
		}
	})
	t.Logf("%d programs over %d maps of nodes keep to the rule; %d, of which a third rank tells, do not", programs, maps,
		relayed)
	if programs < 50 || relayed < 50 {
		t.Error("there are more")
	}
}

// viaThird returns g with one change: the first flag by which a block tells a rank of another node of its data is
// signalled by a new block of rank third, modulo the ranks, which the sender tells instead. It is nil if that rank is
// the sender or the receiver, or there is no such flag.
func viaThird(g *ir.Program, node []int32, third int32) *ir.Program {
	third %= int32(g.Coll.Ranks)
	sender, told, ok := crossing(g, node)
	if !ok || third == told.Rank || third == g.Blocks[sender].Rank {
		return nil
	}
	q, o := *g, *g.OneSided
	o.Flags, o.Operands, q.Steps = append([]int32(nil), o.Flags...), nil, nil
	own := ir.Operand{Rank: third, Buf: ir.Flags, Index: o.Flags[third]}
	o.Flags[third]++
	q.OneSided, q.Blocks, q.Source = &o, nil, nil
	q.Rank = append([]ir.Range(nil), g.Rank...)
	add := func(s ir.Step, sources, dests []ir.Operand) {
		s.Src, s.NSrc = int32(len(o.Operands)), int16(len(sources))
		o.Operands = append(o.Operands, sources...)
		s.Dst, s.NDst = int32(len(o.Operands)), int16(len(dests))
		o.Operands = append(o.Operands, dests...)
		q.Steps = append(q.Steps, s)
	}
	signals := int32(0)
	for b := range g.Blocks {
		for _, s := range g.StepsOf(&g.Blocks[b]) {
			for _, x := range g.OneSided.Dests(&s) {
				if s.Op == ir.Signal && x == told {
					signals++
				}
			}
		}
	}
	for rank := range g.Rank {
		q.Rank[rank].First = int32(len(q.Blocks))
		for b := g.Rank[rank].First; b < g.Rank[rank].End; b++ {
			t := g.Blocks[b]
			first := int32(len(q.Steps))
			for _, s := range g.StepsOf(&t) {
				dests := append([]ir.Operand(nil), g.OneSided.Dests(&s)...)
				for k := range dests {
					if s.Op == ir.Signal && dests[k] == told {
						dests[k] = own
					}
				}
				add(s, g.OneSided.Sources(&s), dests)
			}
			t.Steps = ir.Range{First: first, End: int32(len(q.Steps))}
			q.Blocks = append(q.Blocks, t)
		}
		if int32(rank) == third {
			q.Blocks = append(q.Blocks, relay(add, &q, third, own, told, signals))
		}
		q.Rank[rank].End = int32(len(q.Blocks))
	}
	return &q
}

// relay adds a block of a rank that passes on each signal of the flag own as one of the flag told.
func relay(add func(s ir.Step, sources, dests []ir.Operand), q *ir.Program, rank int32, own, told ir.Operand,
	signals int32) ir.TB {
	first := int32(len(q.Steps))
	step := ir.Step{SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: -1, DepStep: -1, Pos: -1}
	for n := range signals {
		step.Op, own.Nth = ir.Await, n+1
		add(step, []ir.Operand{own}, nil)
		step.Op = ir.Signal
		add(step, nil, []ir.Operand{told})
	}
	return ir.TB{Block: ir.Block{Rank: rank, SendPeer: -1, RecvPeer: -1},
		Steps: ir.Range{First: first, End: int32(len(q.Steps))}}
}

// crossing finds a block that writes to a rank of another node, and the flag by which it tells of that.
func crossing(g *ir.Program, node []int32) (block int32, flag ir.Operand, ok bool) {
	for b := range g.Blocks {
		steps := g.StepsOf(&g.Blocks[b])
		for i := range steps {
			if steps[i].Op != ir.Move {
				continue
			}
			for _, x := range g.OneSided.Dests(&steps[i]) {
				if node[x.Rank] == node[g.Blocks[b].Rank] {
					continue
				}
				for _, f := range g.OneSided.Dests(&steps[i+1]) {
					if f.Rank == x.Rank { // the last; one before it says that a slot was read
						block, flag, ok = int32(b), f, true
					}
				}
				return block, flag, ok
			}
		}
	}
	return 0, flag, false
}

package slots_test

import (
	"testing"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
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
func compiledCatalog(t *testing.T, f func(name string, p *either.Program)) {
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
			f(file.Name, either.OfFifo(p))
		}
	}
}

// TestAcrossNodes holds that lowered programs keep to the rule for data of other nodes, however ranks are dealt to
// nodes, and that none does to whose receiver a third rank signals the data.
func TestAcrossNodes(t *testing.T) {
	var programs, maps, relayed int
	compiledCatalog(t, func(name string, p *either.Program) {
		g, err := slots.Lower(p.Fifo, slots.Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		programs++
		for _, node := range nodeMaps(g.Coll.Ranks) {
			maps++
			if found := verify.AcrossNodes(either.OfOneSided(g), node); len(found) > 0 {
				t.Fatalf("%s over %v: %v", name, node, found)
			}
		}
		node := nodeMaps(g.Coll.Ranks)[programs%2]
		for third := range int32(3) {
			q := irtest.ViaThird(either.OfOneSided(g), node, third+int32(programs))
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

package bundle

import (
	"slices"
	"testing"

	"mscclc/algorithms/choose"
	"mscclc/ir"
)

// TestBothPlaces: each program of the catalog serves calls in place and out of place, on one node and on several, and
// in one lane and in several. Those of differing are refused in some forms: their ranks may end with different bits.
func TestBothPlaces(t *testing.T) {
	differing := []string{"allreduce/allpairs_onestep"}
	n, b := 0, &builder{}
	for _, kind := range Kinds {
		var names []string
		for _, v := range choose.StagedCandidates(choose.Call{Kind: kind}) {
			names = append(names, v.Program)
		}
		for _, name := range sorted(names) {
			for _, nodes := range []string{"", "2,2"} {
				for _, lanes := range []int{0, 2, 3, 8} {
					key := programKey{kind: kind, ranks: 4, nodes: nodes}
					key.Program, key.Lanes = name, lanes
					if kind.Rooted() {
						key.root = 1
					}
					protocols := []ir.Protocol{ir.Simple}
					if lanes == 0 {
						protocols = append(protocols, ir.LL)
					}
					for _, key.Protocol = range protocols {
						p, err := b.compile(key)
						switch {
						case err != nil && !slices.Contains(differing, name):
							t.Errorf("%s %v, nodes %q, %d lanes: %v", name, key.Protocol, nodes, lanes, err)
						case err == nil && (!p.OutOfPlace || p.InPlace != choose.HasInPlace(kind)):
							t.Errorf("%s: in place %v, out of place %v", name, p.InPlace, p.OutOfPlace)
						}
						n++
					}
				}
			}
		}
	}
	if n < 500 {
		t.Errorf("only %d were compiled", n)
	}
}

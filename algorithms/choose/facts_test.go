package choose

import (
	"testing"

	"mscclc/algorithms"
)

// TestFactsOfCatalog checks that every algorithm of the catalog can be called, and that each fact holds of some.
func TestFactsOfCatalog(t *testing.T) {
	var some facts
	for _, name := range algorithms.Names() {
		if _, err := algorithms.Open(name); err != nil {
			t.Error(err)
		}
		is := factsInCatalog(name)
		some.flat, some.nodal, some.rooted = some.flat || is.flat, some.nodal || is.nodal, some.rooted || is.rooted
		some.hinted = some.hinted || is.hinted
		some.switched = some.switched || is.switched
		some.differs = some.differs || is.differs
		some.rowed, some.square = some.rowed || is.rowed, some.square || is.square
		some.ringed = some.ringed || is.ringed
		if is.switched && !is.hinted {
			t.Errorf("%s uses the switch and has no hint: %+v", name, is)
		}
	}
	if some != (facts{true, true, true, true, true, true, true, true, true}) {
		t.Errorf("some have %+v", some)
	}
}

func TestFacts(t *testing.T) {
	tests := []struct {
		text string
		want facts
	}{
		{"algorithm a(ranks = 4, root = 0)\n", facts{flat: true, rooted: true}},
		{"algorithm a(nodes, gpus)\n", facts{nodal: true}},
		{"algorithm a(ranks, first = 0)\n", facts{flat: true, ringed: true}},
		{"# ranks, pull = true\nalgorithm a(n)\n", facts{}},
		{"# Bits: not the same on all ranks\nalgorithm a(ranks)\nfor i in 0..2 { chunk(0, input, 0).copy(1, output, 0,\n  via =\n  switch) }\n",
			facts{flat: true, hinted: true, switched: true, differs: true}},
		{"algorithm a(ranks)\nchunk(0, input, 0).copy(1, output, 0, pull = true)\n", facts{flat: true, hinted: true}},
		{"algorithm a(ranks)\nlet pull = true\n", facts{flat: true}},
		{"algorithm (ranks\n", facts{}},
	}
	for _, tt := range tests {
		if got := factsOf([]byte(tt.text)); got != tt.want {
			t.Errorf("%q: %+v, not %+v", tt.text, got, tt.want)
		}
	}
}

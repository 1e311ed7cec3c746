package choose

import (
	"testing"

	"mscclc/ir"
)

// TestStagedBounds holds that a selector of staged programs takes only these, within its bounds, in one lane and in
// several.
func TestStagedBounds(t *testing.T) {
	for _, kind := range []ir.Kind{ir.AllReduce, ir.ReduceTo} {
		s := selector(t, "h200:gpus=4", "program")
		s.Call.Kind, s.Staged = kind, &StagedBounds{CTAs: 6, Tile: 4 << 10, Scratch: 8 << 20}
		list, err := s.Sizes([]int64{1 << 10, 64 << 10, 4 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			p, err := s.Program(r.Form)
			if err != nil || !p.Staged() || kind == ir.AllReduce && !SameBits(p) {
				t.Fatalf("%v: %v", r.Form, err)
			}
			for _, w := range r.Widths {
				v := r.Choice
				v.Replicas, v.Tile = w.Replicas, w.Tile
				switch {
				case w.Replicas < 1 || p.CTAs(w.Replicas, false) > s.Staged.CTAs:
					t.Errorf("%v has %d CTAs", v, p.CTAs(w.Replicas, false))
				case v.Several() && lanedScratch(p, v) > s.Staged.Scratch, !v.Several() && v.Tile != s.Staged.Tile:
					t.Errorf("%v has other tiles", v)
				}
			}
		}
	}
}

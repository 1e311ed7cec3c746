package slots

import (
	"cmp"
	"slices"
)

// thin removes waits that others imply. A block that has waited for a step of another block knows of all steps before
// that one, in this tile iteration and in the earlier ones. So of its waits for one block, a wait counts if it is for a
// later step than those before it in its own tile iteration, and than those anywhere in an earlier one.
func thin(s *State) error {
	slices.SortFunc(s.waits, func(a, b wait) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.ago, b.ago), cmp.Compare(b.on, a.on))
	})
	latest := map[[2]int32]int32{} // by blocks: the latest step that is awaited in the tile iteration of its wait
	for _, w := range s.waits {
		if key := s.pair(w); w.ago == 0 {
			latest[key] = max(latest[key], w.on)
		}
	}
	known := map[[2]int32]wait{} // by blocks: what the block knows from its steps so far
	s.waits = slices.DeleteFunc(s.waits, func(w wait) bool {
		key := s.pair(w)
		if on, ok := latest[key]; ok && w.ago > 0 && on >= w.on {
			return true
		}
		if k, ok := known[key]; ok && (k.ago < w.ago || k.ago == w.ago && k.on >= w.on) {
			return true
		}
		known[key] = w
		return false
	})
	return nil
}

// pair returns the block that a wait is of, and the block of the step that it is for.
func (s *State) pair(w wait) [2]int32 { return [2]int32{s.w.Block[w.step], s.w.Block[w.on]} }

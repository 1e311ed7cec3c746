package core

import (
	"fmt"
	"maps"
	"slices"

	"mscclc/ir"
)

// checkDepends: dependences are exactly the conflicts of Moves on cells of memory.
func checkDepends(s *State) error {
	plain := *s
	plain.order, plain.groups, plain.sync = nil, nil, nil
	want := conflictsOf(&plain)
	for i := range s.moves {
		has := map[oneDep]bool{}
		for _, d := range s.deps.of(int32(i)) {
			has[oneDep{on: d.on, kind: d.kind}] = true
		}
		if !maps.Equal(has, want[i]) {
			return fmt.Errorf("m%d depends on %v, and conflicts with %v", i, has, want[i])
		}
	}
	return nil
}

// conflictsOf returns for each run or Move those before it that have accessed the same cells, and how.
func conflictsOf(s *State) []map[oneDep]bool {
	list := listed(s)
	deps := make([]map[oneDep]bool, len(list))
	writer, readers := make([]int32, s.cells()), make([][]int32, s.cells())
	for at, m := range list {
		i := int32(at)
		deps[i] = map[oneDep]bool{}
		cells := func(x spot, f func(c int32)) {
			s.merged().each(x, m.count, func(first, end int32) {
				for c := first; c < end; c++ {
					f(c)
				}
			})
		}
		for _, x := range m.srcs {
			kind := depSees
			if x.buf == ir.Packets {
				kind = depPacket
			}
			cells(x, func(c int32) {
				if writer[c] > 0 {
					deps[i][oneDep{on: writer[c] - 1, kind: kind}] = true
				}
			})
		}
		written := map[int32]bool{}
		for _, x := range m.dsts {
			cells(x, func(c int32) {
				if writer[c] > 0 {
					deps[i][oneDep{on: writer[c] - 1, kind: depSees}] = true
				}
				for _, r := range readers[c] {
					deps[i][oneDep{on: r, kind: depOver}] = true
				}
				written[c] = true
			})
		}
		for c := range written {
			writer[c], readers[c] = i+1, nil
		}
		for _, x := range m.srcs {
			cells(x, func(c int32) {
				if !written[c] && !slices.Contains(readers[c], i) {
					readers[c] = append(readers[c], i)
				}
			})
		}
	}
	return deps
}

package core

import "math/rand"

// This file breaks the pass that gives Moves their lanes.

// anyLane spoils the lane of a Move of a program that has several.
func anyLane(spoil func(s *State, m *oneMove)) func(s *State, rnd *rand.Rand) {
	return func(s *State, rnd *rand.Rand) {
		s.anyMove(rnd, func(_ int, m *oneMove) bool {
			fits := s.lanes > 1 && m.lane > 0
			if fits {
				spoil(s, m)
			}
			return fits
		})
	}
}

var brokenAssign = []fault{
	{pass: "assign", what: "lanes are numbered from 1", by: "form",
		spoil: anyLane(func(s *State, m *oneMove) { m.lane = s.lanes })},
	{pass: "assign", what: "a Move has no lane", by: "form", spoil: anyLane(func(_ *State, m *oneMove) { m.lane = -1 })},
	{pass: "assign", what: "ranks have fewer lanes than Moves do", by: "form",
		spoil: anyLane(func(s *State, m *oneMove) { s.lanes = m.lane })},
}

package core

import (
	"math/rand"
	"testing"

	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

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
	// What assign says takes effect too late: signals and waits are for another lane of the rank.
	{pass: "credit", what: "a group runs in another lane than signals are for", by: "ordered", code: diag.Race,
		spoil: otherLane(func(s *State, block int32) int32 { return (block + s.n) % s.blocks() })},
	{pass: "credit", what: "lane 0 runs what is another's", by: "ordered", code: diag.Race,
		spoil: otherLane(func(s *State, block int32) int32 { return s.firstOf(s.rankOf(block)) })},
}

// otherLane has a group run in another block than all before believe.
func otherLane(block func(s *State, of int32) int32) func(s *State, rnd *rand.Rand) {
	return func(s *State, rnd *rand.Rand) {
		any1(len(s.sync.groups), rnd, func(g int) bool {
			this := &s.sync.groups[g]
			to := block(s, this.block)
			fits := to != this.block && !this.joint && !this.open
			if fits {
				this.block = to
			}
			return fits
		})
	}
}

// TestRoundReleases breaks the rule that packets which went round do not release to one lane that another of its rank
// has read: the proof rejects some programs then, and only for races.
func TestRoundReleases(t *testing.T) {
	defer func() { roundReleases = false }()
	tried, rejected := 0, 0
	for seed := range irtest.Count(t, covering.Share(2000)) {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{})
		c.Protocol = ir.LL
		opt := Options{Lanes: 2 + seed%6}
		roundReleases = false
		if _, err := lowered(c, opt); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		roundReleases = true
		p, err := Lower(c, opt)
		if err != nil {
			t.Fatal(err)
		}
		tried++
		if _, found := verify.Check(either.OfOneSided(p), verify.Options{}); len(found) > 0 {
			if rejected++; found[0].Code != diag.Race {
				t.Errorf("seed %d: %v", seed, found[0])
			}
		}
	}
	t.Logf("%d of %d are rejected", rejected, tried)
	if rejected == 0 {
		t.Error("nothing was rejected")
	}
}

package bundle

import (
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/ir"
)

// This file says what candidates that mscclc select simulates may be.

// CandidateBounds returns bounds within which a bundle has room for candidates of a collective on so many ranks of one
// node: those of the candidates that are built in.
func CandidateBounds(kind ir.Kind, ranks int) choose.StagedBounds {
	b := choose.StagedBounds{Tile: ladderTile(ranks), Scratch: limits.Arena / 8}
	for _, r := range rungs(kind, ranks) {
		b.CTAs = max(b.CTAs, min(r.columns, candidateCTAs))
	}
	if kind.Rooted() { // each root has a program of its own
		b.Scratch /= int64(ranks)
	}
	return b
}

// PutCandidates replaces the candidates for the same collective, ranks and launches by list, which holds one such
// group. Measured rules stay, and so do rules that are restricted to some calls.
func (m *Measured) PutCandidates(list []MeasuredRule) {
	if len(list) == 0 {
		return
	}
	m.Version = RulesVersion
	m.Rules = slices.DeleteFunc(m.Rules, func(r MeasuredRule) bool {
		return r.Candidate && !r.some() && compareCalls(r, list[0]) == 0
	})
	m.Rules = append(m.Rules, list...)
}

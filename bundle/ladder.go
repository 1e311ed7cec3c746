package bundle

import (
	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/ir"
)

// A rung is a program of a ladder, for calls of up to a given number of bytes in a given number of replicas.
type rung struct {
	upTo     int64 // 0 is any number
	program  string
	protocol ir.Protocol
	replicas int
}

// Ladder returns rules that nobody measured, for all collectives of a bundle on a given number of ranks. A launch has
// at most `ctas` CTAs a rank. Its programs move data directly from rank to rank: by packets in small calls, and by
// stores and signals in large ones.
func Ladder(ranks, ctas int) []Rule {
	var list []Rule
	for _, kind := range Kinds {
		for _, r := range rungs(kind, ranks) {
			list = append(list, r.rule(kind, ranks, ctas))
		}
	}
	return list
}

// rule returns the rule of a rung, whose launches have at most ctas CTAs a rank.
func (r rung) rule(kind ir.Kind, ranks, ctas int) Rule {
	rule := Forward(kind, ranks)
	rule.Program, rule.Protocol, rule.UpTo, rule.Tile = r.program, r.protocol, r.upTo, ladderTile(ranks)
	rule.Replicas, rule.BuiltIn = min(r.replicas, ctas), true
	return rule
}

// ladderTile returns the bytes of tiles with which all programs have room in an arena.
func ladderTile(ranks int) int64 {
	const align = limits.TileAlign
	return (max(8<<10, 128<<10/int64(ranks)) + align - 1) &^ (align - 1)
}

// CandidateBytes is the most bytes of a call that mscclc has candidates for, and candidateCTAs the most CTAs of their
// launches. Larger calls, and launches of more CTAs, mostly lose against NCCL.
const (
	CandidateBytes = 4 << 20
	candidateCTAs  = 32
	// candidateScratch is the most scratch of a rank for the candidates of one collective: eight have room beside rules
	// that were measured.
	candidateScratch = 16 << 20
)

// CandidateBounds returns bounds within which a bundle has room for candidates of a collective on a given number of
// ranks of one node: those of the candidates that are built in.
func CandidateBounds(kind ir.Kind, ranks int) choose.StagedBounds {
	b := choose.StagedBounds{Tile: ladderTile(ranks), Scratch: candidateScratch}
	for _, r := range rungs(kind, ranks) {
		b.CTAs = max(b.CTAs, min(r.replicas, candidateCTAs))
	}
	if kind.Rooted() { // each root has a program of its own
		b.Scratch /= int64(ranks)
	}
	return b
}

// Candidates returns candidates for calls among a given number of ranks of one node: rules that were measured on some
// device, and then those of Ladder. They end at 4 MiB, and take at most 32 CTAs.
func Candidates(ranks, ctas int) []Rule {
	ctas = min(ctas, candidateCTAs)
	var list []Rule
	for _, m := range BuiltIn() {
		for _, kind := range Kinds {
			for _, r := range first([]*Measured{m}, kind, ranks, "", Eager, false) {
				if r.Program != "" && !r.restricted() {
					r.When |= WhenEager | WhenCaptured
					r.Replicas = min(r.Replicas, ctas)
					list = append(list, r)
				}
			}
		}
	}
	list = append(list, Ladder(ranks, ctas)...)
	for i := range list {
		r := &list[i]
		r.When |= WhenCandidate
		if r.UpTo == 0 || r.UpTo > CandidateBytes {
			r.UpTo = CandidateBytes
		}
	}
	return list
}

// ApartCandidates returns candidates for calls among a given number of ranks whose GPUs do not reach each other's
// memory. Packets are slow there. They are for all sizes, since no rule of other machines is for such calls.
func ApartCandidates(ranks int) *Measured {
	m := &Measured{builtIn: true}
	for _, kind := range Kinds {
		list := rungs(kind, ranks)
		direct := list[len(list)-1]
		list = []rung{{0, direct.program, ir.Simple, direct.replicas / 2}}
		if kind == ir.AllReduce {
			list = append([]rung{{1 << 20 / int64(ranks), "allreduce/onephase", ir.Simple, 8}}, list...)
		}
		for _, when := range []string{Eager, Captured} {
			for _, r := range list {
				rule := MeasuredRule{Calls: Calls{Collective: kind.String(), Ranks: ranks, When: when}}
				rule.Program, rule.Protocol, rule.Tile = r.program, r.protocol, ladderTile(ranks)
				rule.Replicas = max(r.replicas, 1)
				rule.UpTo, rule.Candidate = r.upTo, true
				m.Rules = append(m.Rules, rule)
			}
		}
	}
	return m
}

// rungs returns the rungs of a collective.
func rungs(kind ir.Kind, ranks int) []rung {
	const wide, narrow = 32, 4
	program := kind.String() + "/"
	switch kind {
	case ir.AllReduce, ir.AllGather, ir.ReduceScatter:
		program += "allpairs"
	case ir.AllToAll:
		program += "one_step"
	default:
		program += "direct"
	}
	list := []rung{{256 << 10, program, ir.LL, 16}, {2 << 20, program, ir.LL128, wide}, {0, program, ir.Simple, wide}}
	switch kind {
	case ir.AllReduce:
		list = append([]rung{{64 << 10 / int64(ranks), "allreduce/onephase", ir.LL, 8}}, list...)
	case ir.ReduceTo, ir.Gather: // a program for each root, where the root has room for all ranks
		narrow := max(1, narrow*8/max(8, ranks))
		list = []rung{{64 << 10, program, ir.LL, narrow}, {0, program, ir.Simple, narrow}}
	case ir.Broadcast, ir.Scatter:
		list = []rung{{64 << 10, program, ir.LL, narrow}, {0, program, ir.Simple, 4 * narrow}}
	}
	return list
}

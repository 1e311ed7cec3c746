package bundle

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file has the sets and rules for jobs whose sums have the same bits for all sizes (MSCCLC_BITS=invariant). All
// programs that sum in such a set add in the order of ranks, so that the bits of an element do not depend on which of
// them runs the call. NCCL's order depends on the size, so that it runs no such call. On two ranks a sum is one
// addition: the set for all jobs serves.

// A setKey says which set a rule is for.
type setKey struct {
	ranks     int
	nodes     string // as Rule.layout has it
	invariant bool
}

// sets returns the sets for n ranks in order: by how they lie on nodes, one node first, and after that the one for
// invariant bits, if some rule is for it.
func (b *builder) sets(n int) (list []setKey) {
	invariant := false
	for i := range b.Rules {
		invariant = invariant || b.Rules[i].Ranks == n && b.Rules[i].Invariant
	}
	for _, nodes := range b.layouts(n) {
		list = append(list, setKey{n, nodes, false})
		if nodes == "" && invariant {
			list = append(list, setKey{n, nodes, true})
		}
	}
	return list
}

// has reports whether a rule is for the set. A set for invariant bits has other rules only for what sums nothing.
func (k setKey) has(r *Rule) bool {
	if r.Ranks != k.ranks || r.layout() != k.nodes {
		return false
	}
	return r.Invariant == k.invariant || k.invariant && !r.Kind.Reduces()
}

// invariantRules returns the rules for invariant bits of a number of ranks on one node: those of the first table that
// has some, and for larger calls, and where no table has any, rules that nobody measured. Without `always`, a
// collective of which no table has rules has none.
func invariantRules(ranks, ctas int, tables []*Measured, always bool) (list []Rule) {
	if ranks == 2 {
		always = false
	}
	for _, kind := range Kinds {
		if !kind.Reduces() {
			continue
		}
		of := func(windows bool) func(r *Rule) bool {
			return func(r *Rule) bool { return r.Invariant && r.When&WhenWindows != 0 == windows }
		}
		var found [numLaunches][]Rule
		some := always
		for when, name := range launchNames {
			for _, windows := range [2]bool{true, false} {
				found[when] = append(found[when], firstOf(tables, kind, ranks, "", name, of(windows))...)
			}
			some = some || len(found[when]) > 0
		}
		if !some {
			continue
		}
		rest := invariantLadder(kind, ranks, ctas)
		for when := range found {
			found[when] = append(completed(found[when], kind, ranks, rest), narrower(rest[len(rest)-1])...)
		}
		list = append(list, joined(found[oneByOne], found[byGraph])...)
	}
	return list
}

// invariantLadder returns rules for invariant bits that nobody measured, for calls of all sizes.
func invariantLadder(kind ir.Kind, ranks, ctas int) (list []Rule) {
	for _, r := range rungs(kind, ranks) {
		if r.program != "allreduce/onephase" {
			r.program = kind.String() + "/ordered"
		}
		if kind.Rooted() && r.protocol == ir.Simple {
			r.replicas *= 4 // all ranks add a part, where the root of other candidates adds all
		}
		rule := r.rule(kind, ranks, ctas)
		rule.Invariant = true
		list = append(list, rule)
	}
	return list
}

// narrower returns rules as r for communicators with fewer CTAs. They may be slower than NCCL, which runs
// no such calls. They need no memory beside that of r.
func narrower(r Rule) (list []Rule) {
	for r.Replicas /= 2; r.Replicas > 0; r.Replicas /= 2 {
		list = append(list, r)
	}
	return list
}

// notInOrder says that a program is not for invariant bits.
func notInOrder(m *made) error {
	return diag.List{diag.New(diag.Unsupported, diag.Span{}, "%s does not add in the order of ranks, and its rule is for "+
		"invariant bits", m.Title()).WithHint("%s/ordered does; mscclc verify --bits order prints the order of a program",
		m.kind())}
}

package bundle

import (
	"cmp"
	"math"
	"slices"

	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
)

// This file says which calls no program of a bundle runs. It chooses as runtime/src/team/choose.cc does.

// The reasons of calls whose type has no kernel, and of calls whose rule names NCCL.
const (
	NoKernel = "the bundle has no kernel of the type"
	ToNCCL   = "the bundle leaves such calls to NCCL"
)

// ToLearn is the reason of calls that have candidates, and no measured rule.
const ToLearn = "not measured: the library learns what runs such calls"

// The other reasons for which a call has no program, as team/choose.cc has them.
const (
	noRule   = "no rule is for such calls"
	isWide   = "the program needs more CTAs"
	noMean   = "the program computes no average"
	isUneven = "the count does not divide into chunks"
	isOther  = "the rule was measured with another access among GPUs"
	noNVLink = "the program needs NVLink between all GPUs"
)

// A span is a range of bytes of calls that have no program, for one reason.
type span struct {
	above, upTo uint64
	why         string
}

// Gaps returns the calls that no program of set s runs in communicators of a given number of CTAs, by collective and
// size. apart is whether their GPUs do not reach each other's memory.
func (b *Bundle) Gaps(s *Set, ctas int, apart bool) []Gap {
	list := []Gap{}
	for _, kind := range Kinds {
		x := s.axes(kind)
		found := map[span][]variant{}
		for _, v := range x.variants() {
			c := x.call(kind, v)
			c.apart = apart
			for _, g := range b.spans(s, c, ctas) {
				found[g] = append(found[g], v)
			}
		}
		var spans []span
		for g := range found {
			spans = append(spans, g)
		}
		slices.SortFunc(spans, func(a, b span) int {
			return cmp.Or(cmp.Compare(a.above, b.above), cmp.Compare(a.upTo, b.upTo), cmp.Compare(a.why, b.why))
		})
		for _, g := range spans {
			for _, of := range blocksOf(found[g]) {
				gap := Gap{Collective: kind.String(), Above: g.above, UpTo: g.upTo, Reason: g.why}
				if gap.UpTo == math.MaxUint64 {
					gap.UpTo = 0
				}
				x.describe(&gap, of)
				list = append(list, gap)
			}
		}
	}
	return list
}

// Wide returns the rules of a set whose launches need more CTAs than these.
func (b *Bundle) Wide(s *Set, ctas int) []RuleInfo {
	list := []RuleInfo{}
	for i := range s.Rules {
		if r := &s.Rules[i]; b.CTAs(r) > ctas {
			list = append(list, b.ruleInfo(r))
		}
	}
	return list
}

// Types returns the types of elements that a set has kernels for: to reduce them, and to move them.
func (s *Set) Types() (reduced, moved []string) {
	for t := range data.NumDTypes {
		if s.Image[t] != none {
			reduced = append(reduced, t.String())
		}
		if s.Copier[t] != none {
			moved = append(moved, t.String())
		}
	}
	return reduced, moved
}

// spans returns the ranges of bytes for which a call has no program.
func (b *Bundle) spans(s *Set, c call, ctas int) (list []span) {
	bounds := []uint64{math.MaxUint64}
	for i := range s.Rules {
		if uint32(s.Rules[i].Kind) == c.kind {
			bounds = append(bounds, s.Rules[i].UpTo)
		}
	}
	add := func(above, upTo uint64, why string) {
		if n := len(list); n > 0 && list[n-1].upTo == above && list[n-1].why == why {
			list[n-1].upTo = upTo
		} else if above < upTo {
			list = append(list, span{above, upTo, why})
		}
	}
	above := uint64(0)
	for _, upTo := range sorted(bounds) {
		r, why := b.choice(s, c, upTo, ctas)
		if why == "" && b.Programs[r.Program].Even != 0 {
			why = isUneven
		}
		if why != "" {
			add(above, upTo, why)
		}
		above = upTo
	}
	return list
}

// choice returns the rule for a call of a given number of bytes, or why no program runs it. Candidates are no rules.
func (b *Bundle) choice(s *Set, c call, bytes uint64, ctas int) (r *RuleRow, why string) {
	learns := ""
	why = noRule
	for i := range s.Rules {
		r := &s.Rules[i]
		if !r.fits(&c, bytes, c.when) {
			continue
		}
		switch {
		case r.elsewhere(s, c.apart):
			why = cmp.Or(learns, isOther)
		case c.apart && r.Program != NCCLRow && b.Programs[r.Program].Lines != 0:
			why = cmp.Or(learns, noNVLink)
		case b.CTAs(r) > ctas:
			why = cmp.Or(learns, isWide)
		case r.When&WhenCandidate == 0:
			return r, b.refuses(s, r, c)
		default:
			learns, why = ToLearn, ToLearn
		}
	}
	return nil, why
}

// elsewhere reports whether a measured rule of s is not for GPUs that are apart, or for no others.
func (r *RuleRow) elsewhere(s *Set, apart bool) bool {
	switch {
	case r.When&(WhenCandidate|WhenNamed) != 0:
		return false
	case !apart:
		return r.When&WhenApart != 0
	}
	return r.When&WhenApart == 0 && !s.Invariant
}

// CTAs returns how many CTAs a launch of a rule has, 0 of NCCL's.
func (b *Bundle) CTAs(r *RuleRow) int {
	if r.Program == NCCLRow {
		return 0
	}
	return b.Programs[r.Program].CTAs(int(r.Replicas))
}

// refuses says why the program of a rule does not run a call of any size, or "".
func (b *Bundle) refuses(s *Set, r *RuleRow, c call) string {
	if r.Program == NCCLRow {
		return ToNCCL
	}
	p, image := b.Programs[r.Program], s.Image[c.dtype]
	if p.Copies != 0 {
		image = s.Copier[c.dtype]
	}
	switch {
	case image == none:
		return NoKernel
	case c.redop == uint32(data.Avg) && p.Copies == 0 && !p.Averages(data.DType(c.dtype)):
		return noMean
	}
	return ""
}

// Averages reports whether p, which sums, computes averages of t: of floats it must scale some operands, and of
// integers divide some sums.
func (p *Program) Averages(t data.DType) bool {
	for i := range p.Parts {
		if t.Info().Float {
			if slices.ContainsFunc(p.Parts[i].Operands, abi.OneOperand.Fresh) {
				return true
			}
			continue
		}
		for _, s := range p.Parts[i].Steps {
			if ir.StepFlags(s.Flags)&ir.Final != 0 {
				return true
			}
		}
	}
	return false
}

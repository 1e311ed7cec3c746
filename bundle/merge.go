package bundle

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"mscclc/selection"
)

// The launches as indices of times, in the order of package bench: by graphs, and one by one.
const (
	byGraph = iota
	oneByOne
	numLaunches
)

// launchNames names the launches in rules.
var launchNames = [numLaunches]string{byGraph: Captured, oneByOne: Eager}

// A Timed is a program in some width with its times in microseconds: by graphs, and one by one. Share is the bytes of a
// chunk that a replica has memory for, at most Tile, and Room is the bytes of a rank's arena that they all take.
type Timed struct {
	selection.Choice
	Share  int64                `json:"share"`
	Room   int64                `json:"room"`
	Micros [numLaunches]float64 `json:"us"`
}

// A TimedSize holds what was measured of calls of one size. NCCL has its times as Timed.Micros has them; 0 means that
// NCCL was not measured.
type TimedSize struct {
	Bytes int64                `json:"bytes"`
	Forms []Timed              `json:"forms"`
	NCCL  [numLaunches]float64 `json:"nccl_us"`
}

// How much faster than NCCL a program must be to be taken, and how much slower than the fastest one it may be if fewer
// programs or less memory serve then.
const (
	gain  = 1.03
	alike = 1.02
)

// large are the bytes of a call from which on nothing changes any more.
const large = 1 << 30

// Merge returns the rules for calls of a collective among some ranks: for eager launches, and for captured ones. Sizes
// are in ascending order. A size has the fastest program, or NCCL unless that program is 3 % faster. Programs within
// 2 % of the fastest count as fast as it. Merge takes few of these, since every program takes memory of its own, and of
// their widths those of the least memory. Where all take more than room bytes of a rank's arena, smaller and slower
// ones replace some, or NCCL does. A rule ends at the last size that has its choice (End). The last rule is for all
// larger calls too if its size is large.
func Merge(collective string, ranks int, sizes []TimedSize, room int64) (eager, captured []MeasuredRule) {
	m := newMerger(sizes)
	m.fit(room)
	var rules [numLaunches][]MeasuredRule
	for when := range rules {
		for i := range sizes {
			r := MeasuredRule{Calls: Calls{Collective: collective, Ranks: ranks, When: launchNames[when]},
				Rule: selection.Rule{UpTo: endOf(sizes, i), Choice: selection.Choice{Program: NCCL},
					NCCLMicros: rounded(sizes[i].NCCL[when]), Micros: rounded(sizes[i].least(when))}}
			if i == len(sizes)-1 && sizes[i].Bytes >= large {
				r.UpTo = 0
			}
			if f := m.taken[when][i]; f != nil {
				r.Choice = f.Choice
				r.Micros = rounded(f.Micros[when])
			}
			if n := len(rules[when]); n > 0 && rules[when][n-1].Runs(r) {
				rules[when] = rules[when][:n-1]
			}
			rules[when] = append(rules[when], r)
		}
	}
	return rules[oneByOne], rules[byGraph]
}

func rounded(micros float64) float64 { return math.Round(micros*100) / 100 }

// least returns the time of the fastest form, 0 where there is none.
func (s *TimedSize) least(when int) (micros float64) {
	for _, f := range s.Forms {
		if f.Micros[when] > 0 && (micros == 0 || f.Micros[when] < micros) {
			micros = f.Micros[when]
		}
	}
	return micros
}

// Ranked returns the forms by their times in one kind of launches, the fastest first.
func (s *TimedSize) Ranked(when int) (list []*Timed) {
	for i := range s.Forms {
		list = append(list, &s.Forms[i])
	}
	slices.SortStableFunc(list, func(a, b *Timed) int { return cmp.Compare(a.Micros[when], b.Micros[when]) })
	return list
}

// Gain returns how many times as fast as NCCL the fastest form is, or 0 where one was not measured.
func (s *TimedSize) Gain(when int) float64 {
	if least := s.least(when); least > 0 {
		return s.NCCL[when] / least
	}
	return 0
}

// Took returns the time of what a rule runs. It is that of the fastest form where NCCL runs, or where that form was not
// measured.
func (s *TimedSize) Took(r *MeasuredRule, when int) float64 {
	for i := range s.Forms {
		f := &s.Forms[i]
		runs := MeasuredRule{Rule: selection.Rule{Choice: f.Choice}}
		runs.Placement = r.Placement
		if r.Runs(runs) {
			return rounded(f.Micros[when])
		}
	}
	return rounded(s.least(when))
}

// Serves reports whether a choice was measured, and counts as fast as a form with a given time.
func (s *TimedSize) Serves(c selection.Choice, when int, micros float64) bool {
	return slices.ContainsFunc(s.Forms, func(f Timed) bool {
		return f.Choice == c && f.Micros[when] > 0 && f.Micros[when] <= alike*micros
	})
}

// End returns the largest call that a rule is for whose last size was measured by calls of so many bytes. Larger calls
// have the next rule: they take at most as long as calls of its size, which were measured. How long a program takes
// beyond the sizes that it was measured at has no bound. A power of two that was rounded down to whole elements counts
// as that power.
func End(bytes int64) int64 {
	power := int64(1) << bits.Len64(uint64(bytes-1))
	if power-bytes < power/16 {
		return power
	}
	return bytes
}

// endOf is End of size i. A power of two that was measured itself, rounded down or not, ends the rule of that size.
func endOf(sizes []TimedSize, i int) int64 {
	end := End(sizes[i].Bytes)
	if i+1 < len(sizes) && end >= sizes[i+1].Bytes {
		return sizes[i].Bytes
	}
	return end
}

// WithoutNCCL returns sizes without the times of NCCL, for calls that NCCL may not run.
func WithoutNCCL(sizes []TimedSize) []TimedSize {
	list := slices.Clone(sizes)
	for i := range list {
		list[i].NCCL = [numLaunches]float64{}
	}
	return list
}

// Looking for what has room takes thousands of choices, so that all that does not depend on limits is computed once.

// A mergeForm is a form of a size.
type mergeForm struct {
	*Timed
	of  int                  // the number of its pair
	may [numLaunches]bool    // it was measured, and is faster than NCCL
	log [numLaunches]float64 // of its times
}

// A mergeTable holds what all choices have in common.
type mergeTable struct {
	sizes []TimedSize
	pairs []selection.Choice  // what takes memory of its own, in order: choices without a width; others are their numbers
	forms [][]mergeForm       // of each size
	has   [][]int             // of each pair: the sizes that have forms of it
	steps []limit             // of all forms, by pair: replicas and shares
	at    []int               // where the steps of a pair begin
	nccl  [numLaunches][]cost // of each size where NCCL runs
}

// A cost is the logarithm of a time. One that is not known counts nothing.
type cost float64

// costOf returns the cost of a time.
func costOf(micros float64) cost {
	if micros > 0 {
		return cost(math.Log(micros))
	}
	return 0
}

// newMergeTable computes the table of sizes.
func newMergeTable(sizes []TimedSize) *mergeTable {
	t := &mergeTable{sizes: sizes, forms: make([][]mergeForm, len(sizes))}
	for i := range sizes {
		for _, f := range sizes[i].Forms {
			t.pairs = append(t.pairs, f.Plain())
		}
	}
	slices.SortFunc(t.pairs, selection.Compare)
	t.pairs = slices.Compact(t.pairs)
	t.has = make([][]int, len(t.pairs))
	steps := make([][]limit, len(t.pairs))
	for i := range sizes {
		s := &sizes[i]
		for k := range s.Forms {
			f := mergeForm{Timed: &s.Forms[k]}
			f.of, _ = slices.BinarySearchFunc(t.pairs, f.Plain(), selection.Compare)
			for when, us := range f.Micros {
				f.may[when] = us > 0 && (s.NCCL[when] == 0 || us*gain <= s.NCCL[when])
				f.log[when] = float64(costOf(us))
			}
			t.forms[i] = append(t.forms[i], f)
			steps[f.of] = append(steps[f.of], limit{f.Replicas, f.Share})
			if n := len(t.has[f.of]); n == 0 || t.has[f.of][n-1] != i {
				t.has[f.of] = append(t.has[f.of], i)
			}
		}
		for when, us := range s.NCCL {
			if us == 0 {
				us = 10 * s.least(when) // nothing was measured beside it
			}
			t.nccl[when] = append(t.nccl[when], costOf(us))
		}
	}
	for _, list := range steps {
		t.at = append(t.at, len(t.steps))
		t.steps = append(t.steps, list...)
	}
	t.at = append(t.at, len(t.steps))
	return t
}

// next returns the next larger replicas and share of a pair's forms, or those of l where there are none.
func (t *mergeTable) next(p int, l limit) limit {
	next := l
	for _, f := range t.steps[t.at[p]:t.at[p+1]] {
		if f.replicas > l.replicas && (next.replicas == l.replicas || f.replicas < next.replicas) {
			next.replicas = f.replicas
		}
		if f.share > l.share && (next.share == l.share || f.share < next.share) {
			next.share = f.share
		}
	}
	return next
}

package bundle

import (
	"cmp"
	"math"
	"slices"

	"mscclc/algorithms/choose"
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
	Program  string `json:"program"`
	Protocol string `json:"protocol"`
	choose.InLanes
	Columns int                  `json:"replicas"`
	Threads int                  `json:"threads"`
	Tile    int64                `json:"tile"`
	Share   int64                `json:"share"`
	Room    int64                `json:"room"`
	Micros  [numLaunches]float64 `json:"us"`
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
// are in ascending order, each factor times the one before. A size has the fastest program, or NCCL unless that program
// is 3 % faster. Programs within 2 % of the fastest count as fast as it. Merge takes few of these, since every program
// takes memory of its own, and of their widths those of the least memory. Where all take more than room bytes of a
// rank's arena, smaller and slower ones replace some, or NCCL does.
func Merge(collective string, ranks int, sizes []TimedSize, factor, room int64) (eager, captured []MeasuredRule) {
	m := newMerger(sizes)
	m.fit(room)
	var rules [numLaunches][]MeasuredRule
	for when := range rules {
		for i := range sizes {
			r := MeasuredRule{Collective: collective, Ranks: ranks, When: launchNames[when], UpTo: reach(sizes, i, factor),
				Program: NCCL, NCCLMicros: rounded(sizes[i].NCCL[when]), Micros: rounded(sizes[i].least(when))}
			if f := m.taken[when][i]; f != nil {
				r.Program, r.Protocol, r.InLanes, r.Columns, r.Threads, r.Tile = f.Program, f.Protocol, f.InLanes, f.Columns,
					f.Threads, f.Tile
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
		runs := MeasuredRule{Program: f.Program, Protocol: f.Protocol, Direct: r.Direct, InLanes: f.InLanes,
			Columns: f.Columns, Threads: f.Threads, Tile: f.Tile}
		if r.Runs(runs) {
			return rounded(f.Micros[when])
		}
	}
	return rounded(s.least(when))
}

// A pair is what takes memory of its own: a program by a protocol, in some lanes.
type pair struct {
	program, protocol string
	lanes             choose.InLanes
}

func (f *Timed) pair() pair { return pair{f.Program, f.Protocol, f.InLanes} }

func comparePairs(a, b pair) int {
	return cmp.Or(cmp.Compare(a.program, b.program), cmp.Compare(a.protocol, b.protocol),
		cmp.Compare(a.lanes.Lanes, b.lanes.Lanes), cmp.Compare(a.lanes.Copies, b.lanes.Copies),
		cmp.Compare(a.lanes.Together, b.lanes.Together))
}

// reach returns the largest call that the rule of size i is for: half way to the next size, as the logarithm goes.
// After the last size it is half a factor more, or 0, which means all, if that size is large.
func reach(sizes []TimedSize, i int, factor int64) int64 {
	switch at := sizes[i].Bytes; {
	case i+1 < len(sizes):
		return int64(math.Sqrt(float64(at) * float64(sizes[i+1].Bytes)))
	case at < large:
		return int64(float64(at) * math.Sqrt(float64(factor)))
	}
	return 0
}

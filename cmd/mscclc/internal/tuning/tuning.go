// Package tuning measures the programs that the rules of bundles name, beside NCCL. The commands mscclc tune and mscclc
// search --staged share it. In memory of other ranks, a staged program accesses only scratch, packets
// and flags: never input or output.
package tuning

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/selection"
)

// UsualCTAs are those of a rank that programs are tuned for by default: as many as NCCL's kernels have.
const UsualCTAs = 32

// MostMeasured bounds the measurements of one size and placement.
const MostMeasured = 400

// Large are the bytes of a call from which on nothing changes any more.
const Large = 1 << 30

// A Lab is what programs are measured on, and how.
type Lab struct {
	Site      bench.EagerSite
	Rivals    func(context.Context, *bench.Call) ([]bench.Op, error) // NCCL's, as bench.Contest has them; nil: none
	Chooser   *choose.Chooser
	Own       choose.UserPrograms // the user's programs beside the catalog's
	DType     data.DType
	RedOp     data.RedOp
	Replicas  func(p *either.Program) (int, error) // how many a program may have; 0: it has too many thread blocks
	Shared    bool                                 // replicas can share CTAs
	Measuring bench.Measuring                      // of what the search leaves
	Brief     bool                                 // fewer forms are measured finely
	Windows   bool                                 // buffers are windows, and programs direct; else programs are staged
	Ordered   bool                                 // programs add in the order of ranks; else all are tried
	Layout    string                               // how ranks lie on several nodes, as rules have it; "" is one node
}

// A Tuner measures the programs of one collective. Sizes has what it found, in ascending order.
type Tuner struct {
	*Lab
	Sizes []bundle.TimedSize

	// F32 is how many times as large as with DType the gain over NCCL is with elements of f32, by the bytes of calls.
	// CompareF32 measures it.
	F32 map[int64][bench.NumLaunches]float64

	call    choose.Call
	coll    *ir.Collective
	contest *bench.Contest
	stock   []stocked
	inplace map[*either.Program]*either.Program // the same programs for calls in place
	widths  map[*either.Program]bench.Form      // the fastest of the size before
}

// A stocked is a program of the collective that has memory for `replicas` replicas.
type stocked struct {
	selection.Choice
	program  *either.Program
	replicas int
}

// Tuner makes the programs of a collective for calls of some sizes. call is one out of place. It fails if no program
// runs.
func (l *Lab) Tuner(coll *ir.Collective, call choose.Call, sizes []int64) (*Tuner, error) {
	t := &Tuner{Lab: l, call: call, coll: coll, inplace: map[*either.Program]*either.Program{},
		widths: map[*either.Program]bench.Form{}}
	coarse := l.Measuring
	coarse.Replays, coarse.Warmup, coarse.Target = min(3, coarse.Replays), min(1, coarse.Warmup), coarse.Target/4
	t.contest = &bench.Contest{Site: l.Site, Rivals: l.Rivals, Coarse: coarse, Fine: l.Measuring, Most: MostMeasured,
		Brief: l.Brief, Widths: t.widthsOf, InPlace: t.inPlace}
	return t, t.compile(sizes)
}

// orderedOnly reports whether a program of the catalog is another one but for the order in which it adds: ordered is
// allpairs. Such programs are as fast as the others, and only measured for invariant bits.
func orderedOnly(program string) bool {
	_, name, _ := strings.Cut(program, "/")
	return name == "ordered" || name == "ordered_pull"
}

// inRankOrder reports whether a variant adds in the order of ranks, whatever the root of a call is.
func (t *Tuner) inRankOrder(v selection.Choice) bool {
	call, roots := t.call, 1
	if call.Kind.Rooted() {
		roots = call.Ranks
	}
	for call.Root = range roots {
		if p, err := t.Chooser.Program(v, call); err != nil || !bitwise.InRankOrder(p) {
			return false
		}
	}
	return true
}

// compile makes the programs, without those that are another one by another name.
func (t *Tuner) compile(sizes []int64) error {
	why := choose.ErrNotStaged
	seen := map[[sha256.Size]byte]bool{}
	for _, v := range append(choose.StagedCandidates(t.call), t.laned(sizes)...) {
		if v.Placement = selection.Staged; t.Windows {
			v.Placement = selection.Direct
		}
		p, err := t.Chooser.Program(v, t.call)
		if err != nil {
			why = errors.Join(why, fmt.Errorf("%v: %w", v, err))
			continue
		}
		if t.Ordered && !t.inRankOrder(v) || !t.Ordered && orderedOnly(v.Program) {
			continue
		}
		replicas, err := t.Replicas(p)
		if what := Contents(p); err == nil && replicas > 0 && !seen[what] {
			seen[what] = true
			t.stock = append(t.stock, stocked{v, p, replicas})
		}
	}
	if len(t.stock) == 0 {
		word := "staged"
		if t.Windows {
			word = "direct"
		}
		return diag.List{diag.New(diag.Unavailable, diag.Span{}, "no %s program of %v runs with %s: %v", word, t.coll.Kind,
			diag.Counted(t.coll.Ranks, "rank"), why)}
	}
	return nil
}

// Measure measures calls of a given number of bytes, and keeps what it finds. within bounds the search
// for widths. It returns the bytes of the calls that it made, and the forms, the fastest in graphs first.
func (t *Tuner) Measure(ctx context.Context, bytes int64, within time.Duration) (int64, []bench.Entrant, error) {
	c := t.sized(bytes)
	t.contest.Within = within
	list, err := t.contest.Run(ctx, c, t.forms(c.Bytes()))
	if err != nil {
		return 0, nil, err
	}
	t.put(c.Bytes(), list)
	return c.Bytes(), list, nil
}

// put adds what was found of a size.
func (t *Tuner) put(bytes int64, list []bench.Entrant) {
	t.Sizes = append(t.Sizes, t.timed(bytes, list))
	slices.SortFunc(t.Sizes, func(a, b bundle.TimedSize) int { return cmp.Compare(a.Bytes, b.Bytes) })
}

// Has reports whether calls of about a given number of bytes were measured.
func (t *Tuner) Has(bytes int64) bool { return t.Of(t.sized(bytes).Bytes()) != nil }

// Of returns what was found of calls of a given number of bytes, or nil.
func (t *Tuner) Of(bytes int64) *bundle.TimedSize {
	if i := slices.IndexFunc(t.Sizes, func(s bundle.TimedSize) bool { return s.Bytes == bytes }); i >= 0 {
		return &t.Sizes[i]
	}
	return nil
}

// sized returns a call of about a given number of bytes.
func (t *Tuner) sized(bytes int64) *bench.Call {
	c := &bench.Call{Coll: bench.Whole(t.coll, false), DType: t.DType, RedOp: t.RedOp}
	c.Elems = data.PieceElems(c.Coll, bytes, t.DType)
	return c
}

// Rules returns the rules of all sizes so far, eager and captured, for programs that take up to room bytes of a rank's
// arena.
func (t *Tuner) Rules(room int64) [2][]bundle.MeasuredRule {
	eager, captured := bundle.Merge(t.coll.Kind.String(), t.coll.Ranks, t.Sizes, room)
	all := [2][]bundle.MeasuredRule{eager, captured}
	for _, list := range all {
		for i := range list {
			list[i].Nodes = t.Layout
			list[i].For(t.Windows)
		}
	}
	return all
}

// timed returns what was found of a size. NCCL's time is its least.
func (t *Tuner) timed(bytes int64, list []bench.Entrant) bundle.TimedSize {
	s := bundle.TimedSize{Bytes: bytes}
	for _, e := range slices.Backward(list) {
		t.widths[e.Program] = e.Form
		f := bundle.Timed{Choice: asCalled(e.Choice), Micros: e.Micros}
		f.Width = e.Choice.Width
		f.Share, f.Room = t.room(&e.Form, bytes)
		s.Forms = append(s.Forms, f)
		for how, us := range e.NCCL {
			if s.NCCL[how] == 0 || us < s.NCCL[how] {
				s.NCCL[how] = us
			}
		}
	}
	slices.Reverse(s.Forms)
	return s
}

// asCalled returns c without a width and a placement. Rules of bundles say the placement by what calls they are for.
func asCalled(c selection.Choice) selection.Choice {
	c.Placement = selection.AsCalled
	return c.Plain()
}

// Fastest returns the fastest of entrants for a kind of launches.
func (t *Tuner) Fastest(list []bench.Entrant, how int) bench.Entrant {
	best := slices.MinFunc(list, func(a, b bench.Entrant) int {
		if a.Micros[how] < b.Micros[how] {
			return -1
		}
		return 1
	})
	best.Choice.Placement = selection.AsCalled
	return best
}

package choose

import (
	"math"
	"slices"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/selection"
)

// This file chooses among programs of several lanes: thread blocks of a rank that go through the tiles each at its own
// pace. It tries one-sided programs in protocol Simple only, and large calls only: lanes cost a signal a step, and a
// short call has no other tile for them to move. Rules may name lanes of any one-sided program.

// LanesFrom is the least call, in bytes, that is run in several lanes unless a table says so.
const LanesFrom = 256 << 10

// triedLanes are the numbers of lanes that are tried, firstLanes before the others.
var triedLanes = []int{4, 8, 16, 32}

const firstLanes = 8

// labelledLanes is tried beside these of a user's program, which may label its lanes so that more of them pay.
const labelledLanes = 64

// triedCopies are the numbers of copies of scratch that are tried, beside the usual three, of forms that are about as
// fast as the best.
var triedCopies = []int{2, 4, 6}

// nearCopies is how many times as long as the best a form may take to be tried with other copies of scratch.
const nearCopies = 1.05

// worthLanes is how many times as long as the best a program may take in one lane to be tried in several.
const worthLanes = 2.5

// withLanes returns the forms of v, which may be a user's, with several lanes: those with the usual copies of scratch
// first.
func withLanes(v selection.Choice, own bool) (list []Form) {
	tried := triedLanes
	if own {
		tried = append(slices.Clone(tried), labelledLanes)
	}
	if v.Tile = 0; v.Sided == selection.OneSided && v.Protocol == ir.Simple {
		for _, v.Copies = range append([]int{0}, triedCopies...) {
			for _, v.Lanes = range tried {
				list = append(list, Form{Choice: v})
			}
		}
	}
	return list
}

// simulateLanes simulates forms of several lanes, after all others: of each program that is not far from the best in
// one lane that of firstLanes, then the others where this is near the best, and then those that take at most nearCopies
// times as long as the best, with other copies of scratch.
func (r *ranking) simulateLanes() {
	if !r.Exhaustive {
		r.lanesInOrder()
		return
	}
	for _, worth := range []func(i int, best float64) bool{r.worthFirst, r.worthLanes, r.worthCopies} {
		best := math.Inf(1)
		for i := range r.all {
			best = min(best, r.all[i].micros)
		}
		var list []int
		for i, f := range r.forms {
			if f.Several() && r.bytes >= LanesFrom && worth(i, best) && !r.hopeless(i, best) && math.IsInf(r.all[i].micros, 1) {
				list = append(list, i)
			}
		}
		r.each(len(list), func(k int) { r.try(list[k]) })
	}
}

// worthFirst reports whether form i has firstLanes and is worth a simulation.
func (r *ranking) worthFirst(i int, best float64) bool {
	f := r.forms[i]
	return f.Lanes == firstLanes && f.Copies == 0 && r.all[r.inLanes(i, selection.InLanes{})].micros <= worthLanes*best
}

// worthLanes reports whether form i has other lanes and is worth a simulation.
func (r *ranking) worthLanes(i int, best float64) bool {
	return r.forms[i].Copies == 0 && r.all[r.inLanes(i, selection.InLanes{Lanes: firstLanes})].micros <= near*best
}

// worthCopies reports whether form i has other copies of scratch and is worth a simulation.
func (r *ranking) worthCopies(i int, best float64) bool {
	f := r.forms[i]
	return f.Copies > 0 && r.all[r.inLanes(i, selection.InLanes{Lanes: f.Lanes})].micros <= nearCopies*best
}

// inLanes returns the form of the program of form i that has these lanes. The forms with lanes are listed after the
// one without.
func (r *ranking) inLanes(i int, lanes selection.InLanes) int {
	for r.forms[i].Several() {
		i--
	}
	for r.forms[i].InLanes != lanes {
		i++
	}
	return i
}

// The replicas and tiles that forms of several lanes are tried with, and those that are tried first. A message to
// another node costs a time beside its bytes, so few replicas and long tiles are faster than the other way round. Short
// tiles are for a user's program alone: with a lane for each of its trees, a tile is on many links at once.
var (
	lanedReplicas = []int{1, 2, 4, 8, 16, 32, 64}
	lanedTiles    = []int64{16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20}
)

const (
	firstReplica, firstTile = 3, 4
	shortReplica            = 1
	leastTile               = 2 // of the catalog's programs
)

// lanedMemory bounds the scratch of a rank, in bytes, that a form of several lanes has.
const lanedMemory = 512 << 20

// lanedWidest simulates a form of several lanes roughly, in replicas and tiles that are the better the further it goes:
// from some width on to neighbours that are faster, as long as there are some.
func (s *Selector) lanedWidest(f Form, bytes int64) (timed, error) {
	return s.lanedFrom(f, bytes, [2]int{firstReplica, firstTile})
}

// lanedFrom is lanedWidest from a width on, by its numbers in lanedReplicas and lanedTiles. Of a user's program in many
// lanes, short tiles are looked at too.
func (s *Selector) lanedFrom(f Form, bytes int64, at [2]int) (timed, error) {
	if s.OwnWidth && !s.Rough {
		t, err := s.time(f, bytes, true)
		return timed{f, t}, err
	}
	best, err := s.climb(f, bytes, at, leastTile)
	if err != nil || s.Own.own(f.Program) == nil || f.Lanes <= firstLanes {
		return best, err
	}
	if short, err := s.climb(f, bytes, [2]int{shortReplica, 0}, 0); err == nil && short.micros < best.micros {
		return short, nil
	}
	return best, nil
}

// climb simulates a form of several lanes from a width on, with the least tile at least.
func (s *Selector) climb(f Form, bytes int64, at [2]int, least int) (timed, error) {
	p, err := s.form(f)
	if err != nil {
		return timed{}, err
	}
	best := timed{f, math.Inf(1)}
	look := func(replica, tile int) bool {
		if replica < 0 || replica >= len(lanedReplicas) || tile < least || tile >= len(lanedTiles) {
			return false
		}
		wide := f
		wide.Replicas, wide.Tile = lanedReplicas[replica], lanedTiles[tile]
		if tile > least && wide.Tile/2*int64(wide.Replicas) >= bytes/int64(max(p.Coll.Divisor(), 1)) ||
			lanedScratch(p, wide.Choice) > s.mostScratch() {
			return false
		}
		t, failed := s.time(wide, bytes, true)
		if failed != nil || t*gain > best.micros {
			err = failed
			return false
		}
		best, at = timed{wide, t}, [2]int{replica, tile}
		return true
	}
	for c, t := at[0], at[1]; !look(c, t); {
		if t > least {
			t--
		} else if c > 0 {
			c--
		} else {
			return best, err
		}
	}
	for look(at[0], at[1]+1) || look(at[0]-1, at[1]) || look(at[0], at[1]-1) || look(at[0]+1, at[1]) {
	}
	return best, nil
}

// lanedAt returns the numbers of a width for lanedFrom.
func lanedAt(v selection.Choice) [2]int {
	return [2]int{max(slices.Index(lanedReplicas, v.Replicas), 0), max(slices.Index(lanedTiles, v.Tile), leastTile)}
}

// lanedScratch returns the bytes of scratch that the rank of p has which has most, in so wide a launch.
func lanedScratch(p *either.Program, v selection.Choice) int64 {
	return int64(slices.Max(append(p.Scratch, 0))) * int64(p.OneSided.Depth) * int64(v.Replicas) * v.Tile
}

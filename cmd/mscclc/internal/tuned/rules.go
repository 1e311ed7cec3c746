package tuned

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"mscclc/bundle"
	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/selection"
)

// This file makes rules of what was measured. The programs of all groups of one number of ranks share the memory of a
// bundle, so that the memory goes where it gains most.

// rooms are how many bytes of a rank's memory the programs of a group may take.
var rooms = []int64{128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20, 32 << 20,
	64 << 20}

// allRooms is what all groups together may take: a bit less than a bundle has, since programs begin at multiples of
// some bytes.
const allRooms = limits.Arena / 16 * 15

// A Time is what calls of one size took: the program that the rules name, and NCCL.
type Time struct {
	Group
	When       string  `json:"when" doc:"eager or captured"`
	Bytes      int64   `json:"bytes"`
	Program    string  `json:"program" doc:"what runs such calls, or nccl"`
	Micros     float64 `json:"us" doc:"of that program, or of the fastest one where NCCL runs"`
	NCCLMicros float64 `json:"nccl_us,omitempty"`
}

// Gain is how many times as fast as NCCL calls run: 1 where NCCL runs them, 0 where it was not measured.
func (t *Time) Gain() float64 {
	switch {
	case t.NCCLMicros == 0:
		return 0
	case t.Program == bundle.NCCL:
		return 1
	}
	return t.NCCLMicros / t.Micros
}

// Conclude computes the rules of all groups, and what calls of all sizes take by them, unless that is known. In a
// bundle their programs give way where they have no room.
func (d *Document) Conclude() {
	if d.Rules != nil {
		return
	}
	d.Rules, d.Times = &bundle.Measured{Device: d.Machine.Device}, nil
	d.Rules.Yield()
	merges := d.merges()
	for i, room := range d.rooms(merges) {
		merged := merges[i][room]
		for _, list := range d.Groups[i].rules(merged) {
			d.Rules.Put(list)
		}
		d.Times = append(d.Times, d.Groups[i].took(merged)...)
	}
}

// merges returns the rules of each group for each room. Groups are computed at once, since this takes long.
func (d *Document) merges() []map[int64][][]bundle.MeasuredRule {
	list := make([]map[int64][][]bundle.MeasuredRule, len(d.Groups))
	next, all := atomic.Int64{}, sync.WaitGroup{}
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
				list[i] = map[int64][][]bundle.MeasuredRule{}
				for _, room := range rooms {
					list[i][room] = d.Groups[i].merged(room)
				}
			}
		})
	}
	all.Wait()
	return list
}

// Took returns what calls of a group take by rules whose programs have a given number of bytes of a rank's memory.
func (s *Sizes) Took(room int64) []Time { return s.took(s.merged(room)) }

// took returns what calls take by rules, as merged returns them.
func (s *Sizes) took(merged [][]bundle.MeasuredRule) (list []Time) {
	for _, rules := range merged {
		list = append(list, s.times(rules)...)
	}
	return list
}

// rooms returns the memory of each group.
func (d *Document) rooms(merges []map[int64][][]bundle.MeasuredRule) []int64 {
	list := make([]int64, len(d.Groups))
	for i := range d.Groups {
		if list[i] > 0 {
			continue
		}
		var of []int // groups that share memory
		for k := i; k < len(d.Groups); k++ {
			a, b := &d.Groups[k], &d.Groups[i]
			if a.Ranks == b.Ranks && a.Nodes == b.Nodes && a.Bits == b.Bits {
				of = append(of, k)
			}
		}
		for n, room := range d.deal(of, merges) {
			list[of[n]] = room
		}
	}
	return list
}

// deal deals the memory to groups. Step by step, a group gets what gains most for each byte.
func (d *Document) deal(of []int, merges []map[int64][][]bundle.MeasuredRule) []int64 {
	worth := make([][]float64, len(of))
	has, left := make([]int, len(of)), int64(allRooms)
	for n, i := range of {
		for _, room := range rooms {
			worth[n] = append(worth[n], d.Groups[i].worth(merges[i][room]))
		}
		left -= rooms[0]
	}
	for {
		best, bestN, bestTo := 0.0, 0, 0
		for n := range of {
			for to := has[n] + 1; to < len(rooms); to++ {
				cost := rooms[to] - rooms[has[n]]
				if rate := (worth[n][to] - worth[n][has[n]]) / float64(cost); cost <= left && rate > best {
					best, bestN, bestTo = rate, n, to
				}
			}
		}
		if best <= 0 {
			break
		}
		left -= rooms[bestTo] - rooms[has[bestN]]
		has[bestN] = bestTo
	}
	list := make([]int64, len(of))
	for n := range of {
		list[n] = rooms[has[n]]
	}
	return list
}

// worth is what a group gains by rules, as merged returns them: the logarithms of its gains over NCCL, weighted by the
// range of sizes. Collectives with a root count half, since jobs use them less.
func (s *Sizes) worth(merged [][]bundle.MeasuredRule) (sum float64) {
	for _, rules := range merged {
		times := s.times(rules)
		for i := range times {
			from, to := times[max(i-1, 0)].Bytes, times[min(i+1, len(times)-1)].Bytes
			gain := times[i].Gain()
			switch {
			case gain > 0:
			case times[i].Program == bundle.NCCL: // for lack of memory
				gain = 1
			default: // nothing was compared: fast programs are worth something
				gain = 1 + 1/times[i].Micros
			}
			sum += math.Log(gain) * math.Log2(float64(to)/float64(from)+1)
		}
	}
	if kind, _ := ir.KindByName(s.Collective); kind.Rooted() {
		return sum / 2
	}
	return sum
}

// merged returns the rules for eager and for captured launches, with so much memory.
func (s *Sizes) merged(room int64) [][]bundle.MeasuredRule {
	if len(s.Sizes) == 0 {
		return nil
	}
	sizes := s.Sizes
	if s.Bits != "" { // NCCL may run no call
		sizes = bundle.WithoutNCCL(sizes)
	}
	eager, captured := bundle.Merge(s.Collective, s.Ranks, sizes, room)
	all := [][]bundle.MeasuredRule{eager, captured}
	for when, list := range all {
		if s.Bits != "" { // where no program has room, the next one runs the calls, or what nobody measured
			list = slices.DeleteFunc(list, func(r bundle.MeasuredRule) bool { return r.Program == bundle.NCCL })
		}
		for i := range list {
			list[i].Nodes, list[i].Bits, list[i].Apart = s.Nodes, s.Bits, s.Apart
			list[i].For(s.Windows)
		}
		all[when] = list
	}
	return all
}

// rules is merged, with rules for sums of f32 where NCCL is faster at some of them.
func (s *Sizes) rules(merged [][]bundle.MeasuredRule) (list [][]bundle.MeasuredRule) {
	for when, rules := range merged {
		own, lost := slices.Clone(rules), false
		how := 1 - when // times of captured launches come first
		for k := range own {
			r := &own[k]
			r.DType = data.F32.String()
			if f32 := s.F32[s.at(&rules[k])][how]; r.Program != bundle.NCCL && f32 > 0 && f32*r.NCCLMicros < r.Micros {
				*r = bundle.MeasuredRule{Calls: bundle.Calls{Collective: r.Collective, Ranks: r.Ranks,
					Nodes: r.Nodes, When: r.When},
					Rule: selection.Rule{UpTo: r.UpTo, Choice: selection.Choice{Program: bundle.NCCL}, Only: r.Only}}
				lost = true
			}
		}
		if lost {
			list = append(list, own)
		}
		list = append(list, rules)
	}
	return list
}

// at returns the bytes of the largest calls that were measured of those that a rule is for.
func (s *Sizes) at(r *bundle.MeasuredRule) (bytes int64) {
	for i := range s.Sizes {
		if r.UpTo == 0 || s.Sizes[i].Bytes <= r.UpTo {
			bytes = s.Sizes[i].Bytes
		}
	}
	return bytes
}

// times returns what calls took by rules for one kind of launches.
func (s *Sizes) times(rules []bundle.MeasuredRule) (list []Time) {
	for i := range s.Sizes {
		size := &s.Sizes[i]
		at := slices.IndexFunc(rules, func(r bundle.MeasuredRule) bool { return r.UpTo == 0 || size.Bytes <= r.UpTo })
		if at < 0 {
			continue
		}
		how := 0
		if rules[at].When == bundle.Eager {
			how = 1
		}
		list = append(list, Time{s.Group, rules[at].When, size.Bytes, rules[at].Program, size.Took(&rules[at], how),
			size.NCCL[how]})
	}
	return list
}

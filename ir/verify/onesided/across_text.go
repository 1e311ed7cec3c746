package onesided

import (
	"fmt"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify/checker"
)

// unarrived reports that an event of a pass, after an earlier one of the first, touches what that wrote from another
// node, before it need have arrived.
func (r *racer) unarrived(pass, cell int, later, earlier int32, k checker.Kind, when string) {
	i, j := r.events[later].step, r.events[earlier].step
	does, _ := k.Verbs()
	rank, buf, index := r.chunk(later, cell, k != checker.WriteRead)
	d := r.Step(i, diag.AcrossNodes, "%s %s %s of rank %d, and what %s writes there%s from another node may arrive later",
		r.Name(i), does, r.P.ChunkName(buf, index), rank, r.Name(j), when)
	r.Note(d, j, "%s writes it", r.Name(j))
	for _, x := range r.acquiredBy(i, j, pass) {
		r.Note(d, x[0], "%s tells %s", r.Name(x[0]), r.Name(x[1]))
	}
	r.Note(d, j, "%s", r.missing(i, j, int32(rank)))
	*d = d.WithHint(checker.AcrossHint)
	r.Counterexample(d, checker.Counterexample{Step: i, With: j, Reader: k.Reader(i, j), Rank: rank, Buf: buf,
		Index: index})
}

// missing says which signal would release to step i that what step j wrote to a rank has arrived.
func (r *racer) missing(i, j, rank int32) string {
	writer := r.P.BlockName(r.links.Block[j])
	var awaits []string
	signals := false
	for s := j + 1; s < r.P.Blocks[r.links.Block[j]].Steps.End; s++ {
		if r.P.Steps[s].Op != ir.Signal || r.group[s] == r.group[j] || !carries(&r.P.Steps[s], r.clocks.skip) {
			continue
		}
		for _, x := range r.P.Dests(&r.P.Steps[s]) {
			if x.Rank == rank {
				signals = true
				if a := r.use[r.links.Flag(x.Rank, x.Index)].await; a >= 0 && len(awaits) < 2 {
					awaits = append(awaits, fmt.Sprintf("%s of flags[%d]", r.Name(a), x.Index))
				}
			}
		}
	}
	reader := r.P.BlockName(r.links.Block[i])
	switch {
	case !signals:
		return fmt.Sprintf("%s signals no flag of rank %d after the write, so that nothing sends it", writer, rank)
	case len(awaits) == 0:
		return fmt.Sprintf("rank %d awaits no flag that %s signals after the write", rank, writer)
	}
	return fmt.Sprintf("%s does not know that the write was awaited: by %s", reader, strings.Join(awaits, " or "))
}

// acquiredBy finds how step i of a pass knows that step j of the first is over: a shortest path of Signals and the
// Awaits that acquire them. It is nil where it finds none, as where packets release.
func (r *racer) acquiredBy(i, j int32, pass int) (path [][2]int32) {
	s := &search{r: r, list: []searched{{i, int32(pass), -1, -1}}, seen: map[[2]int32]int32{}}
	for n := 0; n < len(s.list); n++ {
		at := s.list[n]
		if r.links.Block[at.step] != r.links.Block[j] || at.pass == 0 && r.group[at.step] <= r.group[j] {
			s.look(int32(n))
			continue
		}
		for ; at.from >= 0; at = s.list[at.from] {
			if at.await >= 0 {
				path = append(path, [2]int32{at.step, at.await})
			}
		}
		return path
	}
	return nil
}

// A search looks for who signalled what, breadth first, back from a step.
type search struct {
	r    *racer
	list []searched
	seen map[[2]int32]int32 // of a block and a pass: the steps before it were looked at
}

// A searched is a step of a pass. It signals the step await, or, if that is -1, comes before searched from of the list.
type searched struct{ step, pass, await, from int32 }

// look adds the Signals that element n of the list awaited.
func (s *search) look(n int32) {
	at, r := s.list[n], s.r
	steps := r.P.Blocks[r.links.Block[at.step]].Steps
	key := [2]int32{r.links.Block[at.step], at.pass}
	for a := max(s.seen[key], steps.First); a < at.step; a++ {
		if r.P.Steps[a].Op != ir.Await || r.P.Steps[a].Flags&r.clocks.skip != 0 {
			continue
		}
		for _, x := range r.P.Sources(&r.P.Steps[a]) {
			signal, ago := r.links.Awaited(r.links.Flag(x.Rank, x.Index), x.Nth)
			if signal >= 0 && ago <= at.pass && r.P.Steps[signal].Flags&r.clocks.skip == 0 {
				s.list = append(s.list, searched{signal, at.pass - ago, a, n})
			}
		}
	}
	if _, known := s.seen[key]; !known && at.pass > 0 {
		s.list = append(s.list, searched{steps.End - 1, at.pass - 1, -1, n})
	}
	s.seen[key] = max(s.seen[key], at.step)
}

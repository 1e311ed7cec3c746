package verify

import (
	"fmt"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// unarrived reports that an event of a pass, behind an earlier one of the first, touches what that wrote from another
// node, before it need have arrived.
func (r *oneRacer) unarrived(pass, cell int, later, earlier int32, k kind, when string) {
	i, j := r.events[later].step, r.events[earlier].step
	does, _ := k.verbs()
	rank, buf, index := r.chunk(later, cell, k != writeRead)
	d := r.step(i, diag.AcrossNodes, "%s %s %s of rank %d, and what %s writes there%s from another node may arrive later",
		r.name(i), does, r.p.ChunkName(buf, index), rank, r.name(j), when)
	r.note(d, j, "%s writes it", r.name(j))
	for _, x := range r.heardBy(i, j, pass) {
		r.note(d, x[0], "%s tells %s", r.name(x[0]), r.name(x[1]))
	}
	r.note(d, j, "%s", r.missing(i, j, int32(rank)))
	*d = d.WithHint(acrossHint)
	r.counterexample(d, Counterexample{Step: i, With: j, Reader: k.reader(i, j), Rank: rank, Buf: buf, Index: index})
}

// missing says which signal would tell step i that what step j wrote to a rank has arrived.
func (r *oneRacer) missing(i, j, rank int32) string {
	writer := r.p.BlockName(r.links.Block[j])
	var awaits []string
	signals := false
	for s := j + 1; s < r.p.Blocks[r.links.Block[j]].Steps.End; s++ {
		if r.p.Steps[s].Op != ir.Signal || r.group[s] == r.group[j] || !carries(&r.p.Steps[s], r.clocks.skip) {
			continue
		}
		for _, x := range r.p.OneSided.Dests(&r.p.Steps[s]) {
			if x.Rank == rank {
				signals = true
				if a := r.use[r.links.Flag(x.Rank, x.Index)].await; a >= 0 && len(awaits) < 2 {
					awaits = append(awaits, fmt.Sprintf("%s of flags[%d]", r.name(a), x.Index))
				}
			}
		}
	}
	reader := r.p.BlockName(r.links.Block[i])
	switch {
	case !signals:
		return fmt.Sprintf("%s signals no flag of rank %d behind the write, so that nothing sends it", writer, rank)
	case len(awaits) == 0:
		return fmt.Sprintf("rank %d awaits no flag that %s signals behind the write", rank, writer)
	}
	return fmt.Sprintf("%s does not know that the write was awaited: by %s", reader, strings.Join(awaits, " or "))
}

// heardBy finds how step i of a pass hears that step j of the first is over: a shortest path of Signals and the Awaits
// that hear them. It is nil where it finds none, as where packets tell.
func (r *oneRacer) heardBy(i, j int32, pass int) (path [][2]int32) {
	s := &hearing{r: r, list: []hearer{{i, int32(pass), -1, -1}}, seen: map[[2]int32]int32{}}
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

// A hearing is a search for who told what, breadth first, back from a step.
type hearing struct {
	r    *oneRacer
	list []hearer
	seen map[[2]int32]int32 // of a block and a pass: the steps before it were looked at
}

// A hearer is a step of a pass. It tells the step await, or, if that is -1, comes before hearer from of the list.
type hearer struct{ step, pass, await, from int32 }

// look adds the Signals that hearer n of the list was told by.
func (s *hearing) look(n int32) {
	at, r := s.list[n], s.r
	steps := r.p.Blocks[r.links.Block[at.step]].Steps
	key := [2]int32{r.links.Block[at.step], at.pass}
	for a := max(s.seen[key], steps.First); a < at.step; a++ {
		if r.p.Steps[a].Op != ir.Await || r.p.Steps[a].Flags&r.clocks.skip != 0 {
			continue
		}
		for _, x := range r.p.OneSided.Sources(&r.p.Steps[a]) {
			signal, ago := r.links.Awaited(r.links.Flag(x.Rank, x.Index), x.Nth)
			if signal >= 0 && ago <= at.pass && r.p.Steps[signal].Flags&r.clocks.skip == 0 {
				s.list = append(s.list, hearer{signal, at.pass - ago, a, n})
			}
		}
	}
	if _, known := s.seen[key]; !known && at.pass > 0 {
		s.list = append(s.list, hearer{steps.End - 1, at.pass - 1, -1, n})
	}
	s.seen[key] = max(s.seen[key], at.step)
}

package onesided

import (
	"fmt"
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify/checker"
)

// A racer looks at all conflicts, and asks of each whether happens-before orders it: those of one pass, those of
// passes that use one copy of scratch and packets, and those of launches with what others do with user memory.
type racer struct {
	*prover
	checker.Conflicts
	share    int64 // it may use one of this many parts of the memory that clocks may have
	clocks   *clocks
	ends     *clocks // where launches have one pass: what is known at its end, which launches need not find again
	first    []int32 // by cell: 1 + the event that writes it first in a pass
	reused   []reuse // what is to be seen ordered: of event e as the later from reusedAt[e] to reusedAt[e+1]
	reusedAt []int32
	open     int               // how many of these are not yet seen so
	seen     map[[2]int32]bool // pairs of steps of which a race is known
	stopped  bool              // the work allowed was not enough
}

func (o *prover) newRacer() *racer {
	return &racer{prover: o, share: 1, seen: map[[2]int32]bool{}}
}

// A reuse is a conflict with a later pass in n cells, or chunks of packets; in none when it is seen ordered.
type reuse struct {
	earlier, later int32 // events
	cell, n        int32
	kind           checker.Kind
}

// passes looks at the first pass, and then at those up to the one that uses
// its copy of scratch and packets again. Enter and Leave steps, and the ends of
// launches, only order more, so that they are left out.
func (r *racer) passes() bool {
	skip := r.absent(ir.Enter | ir.Leave)
	c := r.newClocks(skip, r.share, r.newArrivals(skip))
	r.clocks, r.Conflicts.Mem = c, r.cells
	depth := r.P.Depth
	r.first = make([]int32, r.cells.Len())
	r.Conflicts.Begin(0, len(r.P.Rank)-1)
	c.each = r.access
	r.Need = func(cell, n int, later, earlier int32, k checker.Kind) {
		if later == earlier || r.knownOver(cell, later, earlier, k) {
			return
		}
		for at := cell; at < cell+n; at++ { // packets may arrive one by one
			if !r.ordered(0, at, later, earlier, k) {
				r.race(0, at, later, earlier, k, "")
			}
		}
	}
	if r.stopped = !c.keep(depth) || !c.pass(0); r.stopped {
		return false
	}
	if r.P.OnePass {
		r.ends = c.snapshot()
	}
	r.reuses()
	if !byClocks {
		r.credited()
	}
	c.each = r.again
	for pass := 1; pass <= int(depth) && r.open > 0; pass++ {
		if r.stopped = !c.pass(pass); r.stopped {
			return false
		}
	}
	return true
}

// absent returns the steps that some pass is without, of those with these marks.
func (o *prover) absent(marks ir.StepFlags) ir.StepFlags {
	if o.P.OnePass {
		return 0
	}
	return marks
}

// access looks at what event e of the first pass reads and writes.
func (r *racer) access(e int32, _ int) {
	ev := &r.events[e]
	s := &r.P.Steps[ev.step]
	for k, x := range r.P.OperandsOf(s) {
		if x.Buf >= ir.Packets {
			continue
		}
		r.eachRank(x.Rank, func(rank int) {
			cell := r.cells.Cell(rank, x.Buf, int(x.Index+ev.k))
			if k < int(s.NSrc) {
				r.Conflicts.Read(e, cell, int(ev.n))
				return
			}
			r.Conflicts.Write(e, cell, int(ev.n))
			for at := cell; at < cell+int(ev.n); at++ {
				if r.first[at] == 0 {
					r.first[at] = e + 1
				}
			}
		})
	}
}

// knownOver reports whether the block of event later, of a pass, knows when its group begins that event earlier of the
// first is over, and sees what that wrote to a cell.
func (r *racer) knownOver(cell int, later, earlier int32, k checker.Kind) bool {
	i, j := r.events[later].step, r.events[earlier].step
	if k != checker.ReadWrite && r.sent(cell, i, j) {
		return r.hasArrived(i, j, r.rankOf(cell))
	}
	return r.knownEnded(i, j, k)
}

// knownEnded reports whether the block of step i knows when its group begins that step j is over, and sees what that
// wrote in memory of its own node.
func (r *racer) knownEnded(i, j int32, k checker.Kind) bool {
	own := &r.clocks.blocks[r.links.Block[i]]
	known := &own.visible
	if k == checker.ReadWrite {
		known = &own.done
	}
	return known.knows(r.chain[r.links.Block[j]]) > r.group[j]
}

// brief is how many parts a question looks at that a later pass asks again: rings pass packets on from rank to rank,
// and of most nothing is known yet.
const brief = 2

// ordered reports whether event later, of a pass, is ordered after event earlier
// of the first where both access a cell. It may say no too often in passes between the first and the last.
func (r *racer) ordered(pass, cell int, later, earlier int32, k checker.Kind) bool {
	if is := r.knownOver(cell, later, earlier, k); is || k != checker.ReadWrite {
		return is
	}
	i, j := r.events[later].step, r.events[earlier].step
	r.clocks.work += int64(r.P.Steps[i].NSrc) + int64(r.P.Steps[j].NSrc)
	ok := true
	v := r.clocks.viewOf(later, part{i, r.parts(later, cell, true)[0]}, pass)
	most := math.MaxInt
	if pass > 0 && pass < int(r.P.Depth) {
		most = brief
	}
	for _, kj := range r.parts(earlier, cell, false) {
		ok = ok && v.read(part{j, kj}, most)
	}
	return ok
}

// parts returns the chunks, counted within its operands, as which event e reads or
// writes a cell.
func (r *racer) parts(e int32, cell int, writes bool) (list []int32) {
	ev := &r.events[e]
	for _, x := range r.accessed(e, writes) {
		r.eachRank(x.Rank, func(rank int) {
			if k := int32(cell - r.cells.Cell(rank, x.Buf, int(x.Index))); k >= ev.k && k < ev.k+ev.n {
				list = append(list, k)
			}
		})
	}
	return list
}

// reuses lists the conflicts of the first pass with the next that uses its copy:
// of a chunk of scratch, the last write and the reads after it with the first write;
// of a chunk of packets, the reads with the write. Others follow from these.
func (r *racer) reuses() {
	list := reuseList{last: make([]int32, len(r.events))}
	for rank := range r.P.Rank {
		at := r.cells.Cell(rank, ir.Scratch, 0)
		for cell := at; cell < at+r.P.ScratchOf(rank); cell++ {
			if r.first[cell] == 0 {
				continue
			}
			later := r.first[cell] - 1
			run := r.Accesses.First(cell)
			r.reuse(&list, reuse{r.Accesses.Writer(run), later, int32(cell), 1, checker.WriteWrite})
			r.Accesses.Readers(run, func(e int32) { r.reuse(&list, reuse{e, later, int32(cell), 1, checker.ReadWrite}) })
		}
		at = r.cells.Cell(rank, ir.Packets, 0)
		for index := range r.P.PacketsOf(rank) {
			chunk := r.links.Packet(int32(rank), int32(index))
			x := r.sender[chunk]
			if x.step < 0 {
				continue
			}
			later := r.eventAt(x)
			for _, y := range r.readers.of(chunk) {
				r.reuse(&list, reuse{r.eventAt(y), later, int32(at + index), 1, checker.ReadWrite})
			}
		}
	}
	r.open = len(list.all)
	r.reused, r.reusedAt = list.byLater()
}

// A reuseList is reuses in the order in which they are found.
type reuseList struct {
	all  []reuse
	last []int32 // by event: 1 + the last in all of which it is the later
}

// byLater sorts the list by the later event, and says where those of each begin.
func (l *reuseList) byLater() (sorted []reuse, start []int32) {
	start = make([]int32, len(l.last)+1)
	for k := range l.all {
		start[l.all[k].later+1]++
	}
	for e := range l.last {
		start[e+1] += start[e]
		l.last[e] = start[e]
	}
	sorted = make([]reuse, len(l.all))
	for _, x := range l.all {
		sorted[l.last[x.later]] = x
		l.last[x.later]++
	}
	return sorted, start
}

// reuse adds a conflict with a later pass to list, or makes the last of the same two
// events longer. Of the steps of one block nothing is to be asked.
func (r *racer) reuse(list *reuseList, x reuse) {
	if r.links.Block[r.events[x.earlier].step] == r.links.Block[r.events[x.later].step] {
		return
	}
	if n := list.last[x.later]; n > 0 {
		if y := &list.all[n-1]; y.earlier == x.earlier && y.kind == x.kind && y.cell+y.n == x.cell {
			y.n++
			return
		}
	}
	list.all = append(list.all, x)
	list.last[x.later] = int32(len(list.all))
}

// again asks for the conflicts of event e, of a later pass, with the first.
// What is not ordered may be in a pass after it, but where that uses the
// same copy.
func (r *racer) again(e int32, pass int) {
	list := r.reused[r.reusedAt[e]:r.reusedAt[e+1]]
	for k := range list {
		x := &list[k]
		if x.n == 0 {
			continue
		}
		for x.n > 0 && r.ordered(pass, int(x.cell), x.later, x.earlier, x.kind) {
			x.cell++
			x.n--
		}
		switch {
		case x.n == 0:
			r.open--
		case pass == int(r.P.Depth):
			r.race(pass, int(x.cell), x.later, x.earlier, x.kind, r.later())
		}
	}
}

// later says how far the passes of a race are apart.
func (r *racer) later() string {
	if r.P.Depth == 1 {
		return " 1 tile iteration before, in the same copy"
	}
	return fmt.Sprintf(" %d tile iterations before, in the same copy", r.P.Depth)
}

// race reports that nothing orders an access after an earlier one. A pair of
// steps is reported once.
func (r *racer) race(pass, cell int, later, earlier int32, k checker.Kind, when string) {
	i, j := r.events[later].step, r.events[earlier].step
	if r.seen[[2]int32{i, j}] || len(r.seen) >= checker.RacesListed {
		return
	}
	r.seen[[2]int32{i, j}] = true
	if k != checker.ReadWrite && r.sent(cell, i, j) && r.knownEnded(i, j, k) {
		r.unarrived(pass, cell, later, earlier, k, when)
		return
	}
	does, did := k.Verbs()
	rank, buf, index := r.chunk(later, cell, k != checker.WriteRead)
	it := "it"
	if _, b, at := r.chunk(earlier, cell, k != checker.ReadWrite); b != buf { // in place
		it = "it, as " + r.P.ChunkName(b, at)
	}
	d := r.Step(i, diag.Race, "%s %s %s of rank %d, and nothing orders it after %s, which %s it%s", r.Name(i), does,
		r.P.ChunkName(buf, index), rank, r.Name(j), did, when)
	r.Note(d, j, "%s %s %s", r.Name(j), did, it)
	unmet := r.because(d, r.gaps(i, j, k != checker.ReadWrite), r.why(i, j, k))
	if d.Hint == "" && r.byRelaxed(i, j, k) {
		d.Hint = relaxedHint
	}
	if d.Hint == "" && when != "" && k == checker.ReadWrite {
		d.Hint = r.tellsRead(i, j)
	}
	r.Counterexample(d, checker.Counterexample{Step: i, With: j, Reader: k.Reader(i, j), Unmet: unmet, Rank: rank,
		Buf: buf, Index: index, Apart: pass})
}

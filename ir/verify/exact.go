package verify

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// exact decides the races of the ranks that flags alone do not decide. It cuts
// the program into actions, and runs clocks over those of all ranks, in passes
// that each ask for a few blocks how much of them others know (columns). It
// returns a run of the actions, or nil where the work allowed was not enough.
func (c *twoSided) exact(r *run, ranks []int) *run {
	if r = c.actions(r); r == nil {
		return nil
	}
	e := newExactRacer(c.checker, r)
	var blocks []int32
	for _, rank := range ranks {
		for b := c.p.Rank[rank].First; b < c.p.Rank[rank].End; b++ {
			blocks = append(blocks, b)
		}
	}
	work := int64(0)
	for len(blocks) > 0 && len(e.seen) < racesListed {
		work += int64(len(e.visits)) * visitWork
		switch {
		case work+e.hops <= c.opt.Work:
		case len(e.seen) > 0: // the verdict stands
			return r
		default:
			c.undecided(ofRaces, "messages between ranks, and not flags, order the accesses of so many blocks (%d of %d ranks)",
				len(ranks), len(c.p.Rank))
			return nil
		}
		n := min(width, len(blocks))
		e.pass(blocks[:n])
		blocks = blocks[n:]
	}
	return r
}

// An exactRacer asks of each conflict whether happens-before, with all messages
// of all ranks, orders it.
type exactRacer struct {
	*checker
	run           *run
	visits        []visit
	done, visible *columns // one and the same where messages make all visible
	conflicts
	seen map[[2]int32]bool // pairs of blocks of which a race is known
	hops int64             // of messages that were followed
}

// A visit is what clocks need of an action. Visits lie in the order of the run,
// as they are read many times.
type visit struct {
	action, block, step int32
	flag, message       int32 // the actions that it waits for, or -1
}

func newExactRacer(c *checker, r *run) *exactRacer {
	e := &exactRacer{checker: c, run: r, visits: make([]visit, len(r.order)), seen: map[[2]int32]bool{}}
	for k, i := range r.order {
		b := r.w.Block[i]
		t := &r.p.Blocks[b]
		e.visits[k] = visit{i, b, i - t.Steps.First, r.w.Awaited(r.p, t.Rank, i), r.w.Mate[i]}
	}
	e.done = newColumns(len(r.p.Blocks), len(r.p.Steps))
	e.visible = e.done
	if !c.p.Protocol.Releases() {
		e.visible = newColumns(len(r.p.Blocks), len(r.p.Steps))
	}
	for k := range e.visits {
		v := &e.visits[k]
		e.done.expect(v.flag)
		e.done.expect(v.message)
		if e.visible != e.done {
			e.visible.expect(v.flag)
		}
	}
	e.conflicts.mem = r.p.Memory()
	e.need = e.judge
	return e
}

// pass looks at the conflicts of which the earlier access is by one of blocks.
func (e *exactRacer) pass(blocks []int32) {
	p, w := e.run.p, e.run.w
	first, last := p.Blocks[blocks[0]].Rank, p.Blocks[blocks[len(blocks)-1]].Rank
	e.conflicts.begin(int(first), int(last))
	e.done.begin(blocks)
	if e.visible != e.done {
		e.visible.begin(blocks)
	}
	for k := range e.visits {
		v := &e.visits[k]
		e.done.wait(v.block, v.flag)
		if e.visible == e.done {
			e.done.wait(v.block, v.message)
		} else {
			e.visible.wait(v.block, v.flag)
			e.done.peek(v.block, v.message) // its packets come one by one
		}
		early := e.done.now[v.block]
		if rank := p.Blocks[w.Block[v.action]].Rank; first <= rank && rank <= last && p.Steps[v.action].Op != ir.Nop {
			e.conflicts.access(int(rank), v.action, &p.Steps[v.action])
		}
		if e.visible != e.done {
			e.done.wait(v.block, v.message)
			e.visible.end(v.block, v.step, v.action, &early)
		}
		e.done.end(v.block, v.step, v.action, &early)
	}
}

// judge reports a conflict that is not ordered.
func (e *exactRacer) judge(cell, _ int, later, earlier int32, k kind) {
	clocks := e.visible
	if k == readWrite {
		clocks = e.done
	}
	a, b := e.run.w.Block[later], e.run.w.Block[earlier]
	if a == b || !clocks.asked(b) || clocks.known(a, b) >= earlier-e.run.p.Blocks[b].Steps.First {
		return
	}
	if k == readWrite && e.visible != e.done && e.carried(earlier, later) {
		return
	}
	e.race(cell, later, earlier, k)
}

// carried reports whether later writes each chunk of the message that earlier
// sends, once that has come round, where earlier read the same one. Packets
// order that, too.
func (e *exactRacer) carried(earlier, later int32) bool {
	p := e.run.p
	s, t := &p.Steps[earlier], &p.Steps[later]
	rank := int(p.Blocks[e.run.w.Block[later]].Rank)
	return e.comesRound(earlier, later) && e.mem.Cell(rank, s.SrcBuf, int(s.Src)) == e.mem.Cell(rank, t.DstBuf, int(t.Dst))
}

// comesRound reports whether the message that later takes is, hop by hop, the one
// that earlier sends of what it reads.
func (e *exactRacer) comesRound(earlier, later int32) bool {
	for later >= 0 && later != earlier {
		later = e.run.w.Mate[later]
		e.hops++
	}
	return later == earlier && e.run.p.Steps[earlier].Op.Info().ReadsSrc
}

// race reports that nothing orders an access behind an earlier one. A pair of
// blocks is reported once.
func (e *exactRacer) race(cell int, later, earlier int32, k kind) {
	p, w := e.run.p, e.run.w
	a, b := w.Block[later], w.Block[earlier]
	if e.seen[[2]int32{a, b}] || len(e.seen) >= racesListed {
		return
	}
	e.seen[[2]int32{a, b}] = true
	i, j := e.run.of(later), e.run.of(earlier)
	does, did := k.verbs()
	rank := int(p.Blocks[a].Rank)
	buf, index := e.operand(rank, cell, &p.Steps[later], k)
	d := e.step(i, diag.Race, "%s %s %v[%d], and nothing orders it behind %s, which %s it", e.name(i), does, buf,
		index, e.name(j), did)
	e.note(d, j, "%s %s %v[%d]", e.name(j), did, buf, index)
	*d = d.WithNote(diag.Span{}, "%s", e.why(later, earlier, k))
	e.counterexample(d, Counterexample{Step: i, With: j, Reader: k.reader(i, j), Group: e.group(later),
		WithGroup: e.group(earlier), Rank: rank, Buf: buf, Index: index})
}

// operand says as which chunk of which operand the step s accesses a cell.
func (e *exactRacer) operand(rank, cell int, s *ir.Step, k kind) (ir.Buf, int) {
	if k == writeRead && s.Op.Info().ReadsSrc {
		if at := cell - e.mem.Cell(rank, s.SrcBuf, int(s.Src)); at >= 0 && at < int(s.Count) {
			return s.SrcBuf, int(s.Src) + at
		}
	}
	return s.DstBuf, int(s.Dst) + cell - e.mem.Cell(rank, s.DstBuf, int(s.Dst))
}

// group returns the message of its step in which action i is.
func (e *exactRacer) group(i int32) (n int32) {
	for e.run.from != nil && i > 0 && e.run.from[i-1] == e.run.from[i] {
		i, n = i-1, n+1
	}
	return n
}

// why says what the block of the later access knows of the other's, and why that
// does not order it behind the earlier one.
func (e *exactRacer) why(later, earlier int32, k kind) string {
	p := e.run.p
	a, b := e.run.w.Block[later], e.run.w.Block[earlier]
	first := e.p.Rank[p.Blocks[b].Rank].First
	names := fmt.Sprintf("block %d then knows of block %d", a-first, b-first)
	if k == readWrite && e.visible != e.done && e.comesRound(earlier, later) {
		return fmt.Sprintf("the message comes back to it in packets of %v, one by one, and those of one chunk say nothing of another", p.Protocol)
	}
	if k != readWrite && e.visible != e.done && e.done.known(a, b) >= earlier-p.Blocks[b].Steps.First {
		return fmt.Sprintf("%s by messages only, and messages of %v make nothing visible but what they carry", names,
			p.Protocol)
	}
	clock := e.visible
	if k == readWrite {
		clock = e.done
	}
	if step := clock.known(a, b); step >= 0 {
		return fmt.Sprintf("%s only that step %d has ended", names,
			e.run.of(p.Blocks[b].Steps.First+step)-e.p.Blocks[b].Steps.First)
	}
	return fmt.Sprintf("no flag and no message tells block %d how far block %d has come", a-first, b-first)
}

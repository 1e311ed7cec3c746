package verify

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify/checker"
)

// exact decides the races of the ranks that flags alone do not decide. It cuts
// the program into actions, and runs clocks over those of all ranks, in passes
// that each ask for a few blocks how much of them others know (columns). It
// returns a run of the actions, or nil where the work allowed was not enough.
func (c *twoSided) exact(r *checker.Run, ranks []int) *checker.Run {
	if r = c.actions(r); r == nil {
		return nil
	}
	e := newExactRacer(c.Checker, r)
	var blocks []int32
	for _, rank := range ranks {
		for b := c.P.Rank[rank].First; b < c.P.Rank[rank].End; b++ {
			blocks = append(blocks, b)
		}
	}
	work := int64(0)
	for len(blocks) > 0 && len(e.seen) < checker.RacesListed {
		work += int64(len(e.visits)) * checker.VisitWork
		switch {
		case work+e.hops <= c.Opt.Work:
		case len(e.seen) > 0: // the verdict stands
			return r
		default:
			c.Undecided(checker.OfRaces, "messages between ranks, and not flags, order the accesses of so many blocks (%d of %d ranks)",
				len(ranks), len(c.P.Rank))
			return nil
		}
		n := min(checker.Width, len(blocks))
		e.pass(blocks[:n])
		blocks = blocks[n:]
	}
	return r
}

// An exactRacer asks of each conflict whether happens-before, with all messages
// of all ranks, orders it.
type exactRacer struct {
	*checker.Checker
	run           *checker.Run
	visits        []visit
	done, visible *columns // one and the same where messages make all visible
	checker.Conflicts
	seen map[[2]int32]bool // pairs of blocks of which a race is known
	hops int64             // of messages that were followed
}

// A visit is what clocks need of an action. Visits lie in the order of the run,
// as they are read many times.
type visit struct {
	action, block, step int32
	flag, message       int32 // the actions that it waits for, or -1
}

func newExactRacer(c *checker.Checker, r *checker.Run) *exactRacer {
	e := &exactRacer{Checker: c, run: r, visits: make([]visit, len(r.Order)), seen: map[[2]int32]bool{}}
	for k, i := range r.Order {
		b := r.W.Block[i]
		t := &r.P.Blocks[b]
		e.visits[k] = visit{i, b, i - t.Steps.First, r.W.Awaited(r.P.Fifo, t.Rank, i), r.W.Mate[i]}
	}
	e.done = newColumns(len(r.P.Blocks), len(r.P.Steps))
	e.visible = e.done
	if !c.P.Protocol.Releases() {
		e.visible = newColumns(len(r.P.Blocks), len(r.P.Steps))
	}
	for k := range e.visits {
		v := &e.visits[k]
		e.done.expect(v.flag)
		e.done.expect(v.message)
		if e.visible != e.done {
			e.visible.expect(v.flag)
		}
	}
	e.Conflicts.Mem = r.P.Memory()
	e.Need = e.judge
	return e
}

// pass looks at the conflicts of which the earlier access is by one of blocks.
func (e *exactRacer) pass(blocks []int32) {
	p, w := e.run.P, e.run.W
	first, last := p.Blocks[blocks[0]].Rank, p.Blocks[blocks[len(blocks)-1]].Rank
	e.Conflicts.Begin(int(first), int(last))
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
			e.Conflicts.Access(int(rank), v.action, &p.Steps[v.action])
		}
		if e.visible != e.done {
			e.done.wait(v.block, v.message)
			e.visible.end(v.block, v.step, v.action, &early)
		}
		e.done.end(v.block, v.step, v.action, &early)
	}
}

// judge reports a conflict that is not ordered.
func (e *exactRacer) judge(cell, _ int, later, earlier int32, k checker.Kind) {
	clocks := e.visible
	if k == checker.ReadWrite {
		clocks = e.done
	}
	a, b := e.run.W.Block[later], e.run.W.Block[earlier]
	if a == b || !clocks.asked(b) || clocks.known(a, b) >= earlier-e.run.P.Blocks[b].Steps.First {
		return
	}
	if k == checker.ReadWrite && e.visible != e.done && e.carried(earlier, later) {
		return
	}
	e.race(cell, later, earlier, k)
}

// carried reports whether later writes each chunk of the message that earlier
// sends, once that has come round, where earlier read the same one. Packets
// order that, too.
func (e *exactRacer) carried(earlier, later int32) bool {
	p := e.run.P
	s, t := &p.Steps[earlier], &p.Steps[later]
	rank := int(p.Blocks[e.run.W.Block[later]].Rank)
	return e.comesRound(earlier, later) && e.Mem.Cell(rank, s.SrcBuf, int(s.Src)) == e.Mem.Cell(rank, t.DstBuf, int(t.Dst))
}

// comesRound reports whether the message that later takes is, hop by hop, the one
// that earlier sends of what it reads.
func (e *exactRacer) comesRound(earlier, later int32) bool {
	for later >= 0 && later != earlier {
		later = e.run.W.Mate[later]
		e.hops++
	}
	return later == earlier && e.run.P.Steps[earlier].Op.Info().ReadsSrc
}

// race reports that nothing orders an access after an earlier one. A pair of
// blocks is reported once.
func (e *exactRacer) race(cell int, later, earlier int32, k checker.Kind) {
	p, w := e.run.P, e.run.W
	a, b := w.Block[later], w.Block[earlier]
	if e.seen[[2]int32{a, b}] || len(e.seen) >= checker.RacesListed {
		return
	}
	e.seen[[2]int32{a, b}] = true
	i, j := e.run.Of(later), e.run.Of(earlier)
	does, did := k.Verbs()
	rank := int(p.Blocks[a].Rank)
	buf, index := e.operand(rank, cell, &p.Steps[later], k)
	d := e.Step(i, diag.Race, "%s %s %v[%d], and nothing orders it after %s, which %s it", e.Name(i), does, buf,
		index, e.Name(j), did)
	e.Note(d, j, "%s %s %v[%d]", e.Name(j), did, buf, index)
	*d = d.WithNote(diag.Span{}, "%s", e.why(later, earlier, k))
	e.Counterexample(d, checker.Counterexample{Step: i, With: j, Reader: k.Reader(i, j), Group: e.group(later),
		WithGroup: e.group(earlier), Rank: rank, Buf: buf, Index: index})
}

// operand says as which chunk of which operand the step s accesses a cell.
func (e *exactRacer) operand(rank, cell int, s *ir.Step, k checker.Kind) (ir.Buf, int) {
	if k == checker.WriteRead && s.Op.Info().ReadsSrc {
		if at := cell - e.Mem.Cell(rank, s.SrcBuf, int(s.Src)); at >= 0 && at < int(s.Count) {
			return s.SrcBuf, int(s.Src) + at
		}
	}
	return s.DstBuf, int(s.Dst) + cell - e.Mem.Cell(rank, s.DstBuf, int(s.Dst))
}

// group returns the message of its step in which action i is.
func (e *exactRacer) group(i int32) (n int32) {
	for e.run.From != nil && i > 0 && e.run.From[i-1] == e.run.From[i] {
		i, n = i-1, n+1
	}
	return n
}

// why says what the block of the later access knows of the other's, and why that
// does not order it after the earlier one.
func (e *exactRacer) why(later, earlier int32, k checker.Kind) string {
	p := e.run.P
	a, b := e.run.W.Block[later], e.run.W.Block[earlier]
	first := e.P.Rank[p.Blocks[b].Rank].First
	names := fmt.Sprintf("block %d then knows of block %d", a-first, b-first)
	if k == checker.ReadWrite && e.visible != e.done && e.comesRound(earlier, later) {
		return fmt.Sprintf("the message comes back to it in packets of %v, one by one, and those of one chunk say nothing of another", p.Protocol)
	}
	if k != checker.ReadWrite && e.visible != e.done && e.done.known(a, b) >= earlier-p.Blocks[b].Steps.First {
		return fmt.Sprintf("%s by messages only, and messages of %v make nothing visible but what they carry", names,
			p.Protocol)
	}
	clock := e.visible
	if k == checker.ReadWrite {
		clock = e.done
	}
	if step := clock.known(a, b); step >= 0 {
		return fmt.Sprintf("%s only that step %d has ended", names,
			e.run.Of(p.Blocks[b].Steps.First+step)-e.P.Blocks[b].Steps.First)
	}
	return fmt.Sprintf("no flag and no message tells block %d how far block %d has come", a-first, b-first)
}

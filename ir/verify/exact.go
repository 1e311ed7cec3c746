package verify

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// exact decides the races of the ranks that flags alone do not decide. It cuts
// the program into actions and runs, for each of these ranks, clocks of its
// blocks over the actions of all ranks. It returns a run of the actions, or nil
// where the work allowed was not enough.
func (c *checker) exact(r *run, ranks []int) *run {
	if r = c.actions(r); r == nil {
		return nil
	}
	e := &exactRacer{checker: c, run: r, done: ir.NewClocks(len(r.p.Steps)), seen: map[[2]int32]bool{}}
	e.visible = e.done
	if !c.p.Protocol.Releases() {
		e.visible = ir.NewClocks(len(r.p.Steps))
	}
	e.visits = visitsOf(r)
	mem := r.p.Memory()
	for k, rank := range ranks {
		e.conflicts.begin(mem, rank)
		e.rank(rank)
		work := e.done.Work + int64(k+1)*int64(len(r.order))*visitWork
		if e.visible != e.done {
			work += e.visible.Work
		}
		switch {
		case len(e.seen) >= racesListed || k+1 == len(ranks):
			return r
		case work <= c.opt.Work:
		case len(e.seen) > 0: // the verdict stands
			return r
		default:
			c.undecided("messages between ranks, and not flags, order the accesses of so many ranks (%d of %d were looked at)", k+1, len(ranks))
			return nil
		}
	}
	return r
}

// visitWork is what a look at one action costs, in nodes of clocks.
const visitWork = 2

// racesListed bounds the races that are looked for.
const racesListed = 50

// actions returns a run of p's actions: of p itself where each step is one,
// else of a copy whose steps are cut.
func (c *checker) actions(r *run) *run {
	m := int32(c.opt.MessageChunks)
	n := 0
	for i := range c.p.Steps {
		n += int(messages(&c.p.Steps[i], m))
	}
	if int64(n)*visitWork > c.opt.Work {
		c.undecided("messages between ranks, and not flags, order some accesses, and there are so many messages (%d)", n)
		return nil
	}
	if n > len(c.p.Steps) {
		p, from := cut(c.p, m, n)
		r = &run{p: p, w: ir.Wire(p), from: from}
	}
	order, _ := r.w.Schedule(r.p, ir.Unbounded, int(m)).Run()
	return &run{p: r.p, w: r.w, order: order, from: r.from}
}

// messages is the number of actions of s, with m chunks a message.
func messages(s *ir.Step, m int32) int32 {
	if info := s.Op.Info(); s.Count < 1 || !info.Sends && !info.Receives {
		return 1
	}
	return (s.Count + m - 1) / m
}

// cut returns p with each step cut into its n actions in all, as steps that wait
// for the same and of which the last ends the same waits; and the step of p that
// each is of.
func cut(p *ir.Program, m int32, n int) (*ir.Program, []int32) {
	q := *p
	q.Steps = make([]ir.Step, 0, n)
	q.Blocks = append([]ir.TB(nil), p.Blocks...)
	from := make([]int32, 0, n)
	last := make([]int32, len(p.Steps)) // of a step: its last action, within its block
	for b := range q.Blocks {
		own := p.Blocks[b].Steps
		first := int32(len(q.Steps))
		for i := own.First; i < own.End; i++ {
			q.Steps, from = cutStep(q.Steps, from, p, i, m)
			last[i] = int32(len(q.Steps)) - first - 1
		}
		q.Blocks[b].Steps = ir.Range{First: first, End: int32(len(q.Steps))}
	}
	for b := range q.Blocks {
		tbs := p.TBsOf(int(q.Blocks[b].Rank))
		for i := q.Blocks[b].Steps.First; i < q.Blocks[b].Steps.End; i++ {
			if s := &q.Steps[i]; s.DepBlock >= 0 {
				s.DepStep = last[tbs[s.DepBlock].Steps.First+s.DepStep]
			}
		}
	}
	return &q, from
}

func cutStep(to []ir.Step, from []int32, p *ir.Program, i, m int32) ([]ir.Step, []int32) {
	s := p.Steps[i]
	n := messages(&s, m)
	for k := range n {
		t := s
		if n > 1 {
			t.Count = min(m, s.Count-k*m)
			t.Src, t.Dst, t.Class = s.Src+k*m, s.Dst+k*m, int32(p.Coll.Class(int(s.Class+k*m)))
		}
		if k > 0 {
			t.DepBlock, t.DepStep = -1, -1
		}
		if k+1 < n {
			t.Flags &^= ir.HasDep
		}
		to, from = append(to, t), append(from, i)
	}
	return to, from
}

// An exactRacer asks of each conflict of a rank whether happens-before, with
// all messages of all ranks, orders it.
type exactRacer struct {
	*checker
	run           *run
	visits        []visit
	done, visible *ir.Clocks // one and the same where messages make all visible
	conflicts
	seen map[[2]int32]bool // pairs of blocks of which a race is known
}

func (e *exactRacer) rank(rank int) {
	p, w, own := e.run.p, e.run.w, e.p.Rank[rank]
	e.need = func(cell int, later, earlier int32, k kind) {
		clocks := e.visible
		if k == readWrite {
			clocks = e.done
		}
		a, b := w.Block[later], w.Block[earlier]
		if a != b && !clocks.Covers(a, b, earlier-p.Blocks[b].Steps.First) {
			e.race(rank, cell, later, earlier, k)
		}
	}
	e.done.BeginAmong(len(p.Blocks), int(own.First), int(own.End))
	if e.visible != e.done {
		e.visible.BeginAmong(len(p.Blocks), int(own.First), int(own.End))
	}
	for k := range e.visits {
		e.expect(&e.visits[k])
	}
	for k := range e.visits {
		v := &e.visits[k]
		e.wait(v)
		if v.block >= own.First && v.block < own.End && p.Steps[v.action].Op != ir.Nop && len(e.seen) < racesListed {
			e.conflicts.access(rank, v.action, &p.Steps[v.action])
		}
		e.end(v)
	}
}

// A visit is what clocks need of an action. Visits lie in the order of the run,
// as they are read many times.
type visit struct {
	action, block, step int32
	flag, message       int32 // the actions that it waits for, or -1
}

func visitsOf(r *run) []visit {
	visits := make([]visit, len(r.order))
	for k, i := range r.order {
		b := r.w.Block[i]
		t := &r.p.Blocks[b]
		visits[k] = visit{i, b, i - t.Steps.First, r.w.Awaited(r.p, t.Rank, i), r.w.Mate[i]}
	}
	return visits
}

func (e *exactRacer) expect(v *visit) {
	if v.flag >= 0 {
		e.done.Expect(v.flag)
		if e.visible != e.done {
			e.visible.Expect(v.flag)
		}
	}
	if v.message >= 0 {
		e.done.Expect(v.message)
	}
}

func (e *exactRacer) wait(v *visit) {
	if v.flag >= 0 {
		e.done.Wait(v.block, v.flag)
		if e.visible != e.done {
			e.visible.Wait(v.block, v.flag)
		}
	}
	if v.message >= 0 {
		e.done.Wait(v.block, v.message)
	}
}

func (e *exactRacer) end(v *visit) {
	e.done.End(v.block, v.step, v.action)
	if e.visible != e.done {
		e.visible.End(v.block, v.step, v.action)
	}
}

// race reports that nothing orders an access behind an earlier one. A pair of
// blocks is reported once.
func (e *exactRacer) race(rank, cell int, later, earlier int32, k kind) {
	p, w := e.run.p, e.run.w
	a, b := w.Block[later], w.Block[earlier]
	if e.seen[[2]int32{a, b}] {
		return
	}
	e.seen[[2]int32{a, b}] = true
	i, j := e.run.of(later), e.run.of(earlier)
	does, did := k.verbs()
	buf, index := e.operand(rank, cell, &p.Steps[later], k)
	d := e.step(i, diag.Race, "%s %s %v[%d], and nothing orders it behind %s, which %s it", e.name(i), does, buf, index, e.name(j), did)
	e.note(d, j, "%s %s %v[%d]", e.name(j), did, buf, index)
	*d = d.WithNote(diag.Span{}, "%s", e.why(a, b, earlier, k))
	e.witness(d, Witness{Step: i, With: j, Group: e.group(later), WithGroup: e.group(earlier), Rank: rank, Buf: buf, Index: index})
}

// operand says as which chunk of which operand the step s accesses a cell.
func (e *exactRacer) operand(rank, cell int, s *ir.Step, k kind) (ir.Buf, int) {
	if k == writeRead && s.Op.Info().ReadsSrc {
		if at := e.base + cell - e.mem.Cell(rank, s.SrcBuf, int(s.Src)); at >= 0 && at < int(s.Count) {
			return s.SrcBuf, int(s.Src) + at
		}
	}
	return s.DstBuf, int(s.Dst) + e.base + cell - e.mem.Cell(rank, s.DstBuf, int(s.Dst))
}

// group is the message of its step in which action i is.
func (e *exactRacer) group(i int32) (n int32) {
	for e.run.from != nil && i > 0 && e.run.from[i-1] == e.run.from[i] {
		i, n = i-1, n+1
	}
	return n
}

// why says what block a knows of block b where it does its access, and why
// that does not order it behind the earlier one.
func (e *exactRacer) why(a, b, earlier int32, k kind) string {
	p := e.run.p
	first := e.p.Rank[p.Blocks[b].Rank].First
	names := fmt.Sprintf("block %d then knows of block %d", a-first, b-first)
	if k != readWrite && e.visible != e.done && e.done.Covers(a, b, earlier-p.Blocks[b].Steps.First) {
		return fmt.Sprintf("%s by messages only, and messages of %v make nothing visible but what they carry", names, p.Protocol)
	}
	clock := e.visible
	if k == readWrite {
		clock = e.done
	}
	if step := clock.Known(a, b); step >= 0 {
		return fmt.Sprintf("%s only that step %d has ended", names, e.run.of(p.Blocks[b].Steps.First+step)-e.p.Blocks[b].Steps.First)
	}
	return fmt.Sprintf("no flag and no message tells block %d how far block %d has come", a-first, b-first)
}

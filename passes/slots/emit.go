package slots

import (
	"cmp"
	"slices"

	"mscclc/ir"
	"mscclc/ir/onesided"
)

// An emitter writes the tables of the lowered program.
type emitter struct {
	*State
	g     *onesided.Program
	names *names

	reports []report               // by step, then by block
	flag    map[[2]int32]blockFlag // by the block that signals and the one that awaits

	sent, received []int32 // by connection: messages so far
	next           int     // in waits: the first of a step that is yet to come
	awaits         []onesided.Operand
	signals        []onesided.Operand
	sources, dests []onesided.Operand
}

// A report is that the end of a step is signalled to a block: as the nth signal of their flag in a tile iteration, from
// 1.
type report struct{ step, block, nth int32 }

// A blockFlag is a flag between two blocks of a rank, and how many signals it has in a tile iteration.
type blockFlag struct{ flag, signals int32 }

// emit writes down what the passes have found.
func (s *State) emit() (*onesided.Program, error) {
	p := s.p
	g := &onesided.Program{Program: ir.Program{Header: p.Header, Even: p.Even, Rank: p.Rank, Scratch: s.scratch,
		InPlace: p.InPlace, OutOfPlace: p.OutOfPlace}, Flags: s.flags, Packets: make([]int32, len(p.Rank)), Depth: s.depth}
	e := &emitter{State: s, g: g, names: &names{of: p, block: s.w.Block}, flag: map[[2]int32]blockFlag{},
		sent: make([]int32, len(s.conns)), received: make([]int32, len(s.conns))}
	e.number()
	g.Blocks = make([]ir.TB, len(p.Blocks))
	for b := range p.Blocks {
		t := &p.Blocks[b]
		first := int32(len(g.Steps))
		for i := t.Steps.First; i < t.Steps.End; i++ {
			if p.Steps[i].Op != ir.Nop && s.head[i] == i {
				e.step(int32(b), i)
			}
		}
		g.Blocks[b] = ir.TB{Block: ir.Block{Rank: t.Rank, SendPeer: -1, RecvPeer: -1},
			Steps: ir.Range{First: first, End: int32(len(g.Steps))}}
	}
	e.names.flags(s, e.flag)
	g.Source = e.names
	return g, nil
}

// number numbers the signals between blocks.
func (e *emitter) number() {
	for _, w := range e.waits {
		e.reports = append(e.reports, report{step: w.on, block: e.w.Block[w.step]})
	}
	slices.SortFunc(e.reports, compareReports)
	e.reports = slices.CompactFunc(e.reports, func(a, b report) bool { return compareReports(a, b) == 0 })
	for k := range e.reports {
		x := &e.reports[k]
		key := [2]int32{e.w.Block[x.step], x.block}
		to, ok := e.flag[key]
		if !ok {
			to.flag = e.newFlag(e.p.Blocks[x.block].Rank)
		}
		to.signals++
		e.flag[key], x.nth = to, to.signals
	}
	slices.SortStableFunc(e.waits, func(a, b wait) int { return cmp.Compare(a.step, b.step) })
}

func compareReports(a, b report) int {
	return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.block, b.block))
}

// step writes step i of block b, which may be a chain: what it waits for, what it moves, and what it signals.
func (e *emitter) step(b, i int32) {
	e.awaits, e.signals, e.sources, e.dests = e.awaits[:0], e.signals[:0], e.sources[:0], e.dests[:0]
	t, s := &e.p.Blocks[b], &e.p.Steps[i]
	info := s.Op.Info()
	e.waiting(b, i)
	local := func(buf ir.Buf, at int32) onesided.Operand {
		return onesided.Operand{Rank: t.Rank, Buf: buf, Index: at}
	}
	if info.ReadsDst {
		e.sources = append(e.sources, local(s.DstBuf, s.Dst))
	}
	for k := i; k <= e.last[i] && info.ReadsSrc; k++ {
		e.sources = append(e.sources, local(e.p.Steps[k].SrcBuf, e.p.Steps[k].Src))
	}
	if info.Receives {
		e.receive(e.in[b])
	}
	if info.Writes {
		e.dests = append(e.dests, local(s.DstBuf, s.Dst))
	}
	if info.Sends {
		e.send(e.out[b])
	}
	for k := e.reportsOf(e.last[i]); k < len(e.reports) && e.reports[k].step == e.last[i]; k++ {
		e.signals = append(e.signals, flag(t.Rank, e.flag[[2]int32{b, e.reports[k].block}].flag, 0))
	}
	e.add(i, ir.Step{Op: ir.Await}, e.awaits, nil)
	e.add(i, ir.Step{Op: ir.Move, Count: s.Count, Class: s.Class, Flags: e.p.Steps[e.last[i]].Flags & ir.Final},
		e.sources, e.dests)
	e.add(i, ir.Step{Op: ir.Signal}, nil, e.signals)
}

// reportsOf returns where the reports of a step begin.
func (e *emitter) reportsOf(step int32) int {
	k, _ := slices.BinarySearchFunc(e.reports, report{step: step, block: -1}, compareReports)
	return k
}

// waiting adds the waits of step i, of block b, for other blocks. Of one flag the latest signal counts.
func (e *emitter) waiting(b, i int32) {
	for ; e.next < len(e.waits) && e.waits[e.next].step <= i; e.next++ {
		w := e.waits[e.next]
		to := e.flag[[2]int32{e.w.Block[w.on], b}]
		k, _ := slices.BinarySearchFunc(e.reports, report{step: w.on, block: b}, compareReports)
		x := flag(e.p.Blocks[b].Rank, to.flag, e.reports[k].nth-w.ago*to.signals)
		if k := slices.IndexFunc(e.awaits, func(y onesided.Operand) bool { return y.Index == x.Index }); k >= 0 {
			e.awaits[k].Nth = max(e.awaits[k].Nth, x.Nth)
			continue
		}
		e.awaits = append(e.awaits, x)
	}
}

// receive adds the next message of connection k to the sources.
func (e *emitter) receive(k int32) {
	c, j := &e.conns[k], e.received[k]
	e.received[k]++
	e.awaits = append(e.awaits, flag(c.dst, c.data, j+1))
	e.sources = append(e.sources, onesided.Operand{Rank: c.dst, Buf: ir.Scratch, Index: c.slot(j)})
	e.signals = append(e.signals, flag(c.src, c.free, 0))
}

// send adds the next message of connection k to the destinations.
func (e *emitter) send(k int32) {
	c, j := &e.conns[k], e.sent[k]
	e.sent[k]++
	e.awaits = append(e.awaits, flag(c.src, c.free, c.credit(j, e.depth)))
	e.dests = append(e.dests, onesided.Operand{Rank: c.dst, Buf: ir.Scratch, Index: c.slot(j)})
	e.signals = append(e.signals, flag(c.dst, c.data, 0))
}

func flag(rank, index, nth int32) onesided.Operand {
	return onesided.Operand{Rank: rank, Buf: ir.Flags, Index: index, Nth: nth}
}

// add writes a step that comes of step i of the program, unless it has no operands.
func (e *emitter) add(i int32, s ir.Step, sources, dests []onesided.Operand) {
	if len(sources)+len(dests) == 0 {
		return
	}
	o := e.g
	s.SrcBuf, s.DstBuf, s.DepBlock, s.DepStep, s.Pos = ir.NoBuf, ir.NoBuf, -1, -1, e.p.Steps[i].Pos
	s.Src, s.NSrc = int32(len(o.Operands)), int16(len(sources))
	o.Operands = append(o.Operands, sources...)
	s.Dst, s.NDst = int32(len(o.Operands)), int16(len(dests))
	o.Operands = append(o.Operands, dests...)
	e.g.Steps = append(e.g.Steps, s)
	e.names.steps = append(e.names.steps, i)
}

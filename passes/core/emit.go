package core

import (
	"cmp"
	"slices"
	"sort"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/onesided"
)

// A oneEmitter writes the tables of a program.
type oneEmitter struct {
	*oneSync
	p       *onesided.Program
	flags   map[flagKey]int32
	raised  map[flagKey]int32  // how many signals a flag gets in a pass, or in a launch
	ordinal []int32            // by signal: its number among those of its flag, from 1
	after   [][]int32          // by group: the signals after it
	begun   [][]int32          // by rank: the blocks that wait for its launch to begin
	left    [][]int32          // by block: the blocks that signal it at the end of a launch
	list    []onesided.Operand // the operands of the step that is being made
}

// A flagKey names a flag, by which one block signals another, in each pass or in each launch. The flag is in the memory
// of the rank that waits.
type flagKey struct {
	from, to int32
	launch   bool
}

// emit writes the program: the Moves, and the signals and waits that sync and the passes after it have decided on.
func (l *State) emit() (*onesided.Program, error) {
	s := l.sync
	s.settled()
	inplace := l.c.Coll.Inplace
	p := &onesided.Program{Program: ir.Program{Header: l.c.Header, Even: l.even, InPlace: inplace || l.opt.Both,
		OutOfPlace: !inplace}, Depth: s.copies, OnePass: l.onePass}
	e := &oneEmitter{oneSync: s, p: p, flags: make(map[flagKey]int32), raised: make(map[flagKey]int32),
		after: make([][]int32, len(s.groups)), begun: make([][]int32, l.n), left: make([][]int32, l.blocks())}
	p.Scratch, p.Packets = l.places.scratch, l.places.packets
	p.Flags = make([]int32, l.n)
	e.count()
	e.room()
	byBlock := make([][]int32, l.blocks())
	for g := range s.groups {
		byBlock[s.groups[g].block] = append(byBlock[s.groups[g].block], int32(g))
	}
	for r := range l.n {
		at := int32(len(p.Blocks))
		for b := range l.blocksOf(r) {
			first := int32(len(p.Steps))
			e.block(b, byBlock[b])
			if end := int32(len(p.Steps)); first < end || b == l.firstOf(r) { // a rank has a block, also without steps
				p.Blocks = append(p.Blocks, ir.TB{Block: ir.Block{Rank: r, SendPeer: -1, RecvPeer: -1},
					Steps: ir.Range{First: first, End: end}, Together: e.together(p, r, p.Steps[first:end])})
			}
		}
		p.Rank = append(p.Rank, ir.Range{First: at, End: int32(len(p.Blocks))})
	}
	_ = eval.MarkFinal(either.OfOneSided(p)) // an error says why p cannot do avg, and p then lacks the flag for it
	return p, nil
}

// together returns how many replicas of a block with these steps share a CTA, or 0. They do if all Moves of the block
// copy to other nodes, since a few threads keep up with the network.
func (e *oneEmitter) together(p *onesided.Program, rank int32, steps []ir.Step) int32 {
	moves := 0
	for i := range steps {
		s := &steps[i]
		if !s.Op.Moves() {
			continue
		}
		moves++
		if s.NSrc > 1 || slices.ContainsFunc(p.Dests(s), func(x onesided.Operand) bool {
			return x.Rank == ir.AllRanks || !e.away(rank, x.Rank)
		}) {
			return 0
		}
	}
	if moves == 0 || e.opt.Together < 2 {
		return 0
	}
	return int32(e.opt.Together)
}

// count numbers the signals of each flag, in the order of the block that sends them.
func (e *oneEmitter) count() {
	e.countBegun()
	order := make([]int32, len(e.signals))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		a, b := &e.signals[i], &e.signals[j]
		return cmp.Or(cmp.Compare(a.group, b.group), e.further(a.to, b.to, a.from))
	})
	e.ordinal = make([]int32, len(e.signals))
	for i, k := range order {
		key := flagKey{e.signals[k].from, e.signals[k].to, false}
		e.raised[key]++
		e.ordinal[k] = e.raised[key]
		if after := &e.after[e.signals[k].group]; len(*after) == 0 {
			*after = order[i : i+1]
		} else {
			*after = (*after)[:len(*after)+1]
		}
	}
	for _, pair := range e.leaves {
		e.left[pair[1]] = append(e.left[pair[1]], pair[0])
	}
}

// countBegun lists the blocks that wait for each rank's launch to begin. Its signals are the first of their flags.
func (e *oneEmitter) countBegun() {
	for g, list := range e.begins {
		for _, owner := range list {
			e.begun[owner] = append(e.begun[owner], e.groups[g].block)
		}
	}
	for r, list := range e.begun {
		slices.SortFunc(list, func(a, b int32) int { return e.further(a, b, e.firstOf(int32(r))) })
	}
	for r, list := range e.begun {
		for _, to := range list {
			e.raised[e.launch(e.firstOf(int32(r)), to)]++
		}
	}
}

// launch returns the flag of the signals from one block to another that are sent once in a launch. If launches have one
// pass, it is the flag of all their signals.
func (e *oneEmitter) launch(from, to int32) flagKey { return flagKey{from, to, !e.onePass} }

// room makes room for all steps and operands.
func (e *oneEmitter) room() {
	steps, operands := len(e.moves), 2*len(e.leaves)
	add := func(n int) {
		if operands += n; n > 0 {
			steps++
		}
	}
	for i := range e.moves {
		operands += len(e.moves[i].srcs) + len(e.moves[i].dsts)
	}
	for g := range e.groups {
		add(len(e.begins[g]))
		add(len(e.awaits[g]))
		add(len(e.after[g]))
	}
	for r := range e.n {
		add(len(e.begun[r]))
	}
	steps += 2 * int(e.blocks())
	e.p.Steps = make([]ir.Step, 0, steps)
	e.p.Operands = make([]onesided.Operand, 0, operands)
}

// flag returns a flag as an operand. Flags are numbered within their rank.
func (e *oneEmitter) flag(key flagKey, nth int32) onesided.Operand {
	f, ok := e.flags[key]
	if !ok {
		rank := e.rankOf(key.to)
		f = e.p.Flags[rank]
		e.p.Flags[rank]++
		e.flags[key] = f
	}
	return onesided.Operand{Rank: e.rankOf(key.to), Buf: ir.Flags, Index: f, Nth: nth}
}

// block writes the steps of a block. The first block of a rank signals that the launch has begun.
func (e *oneEmitter) block(block int32, groups []int32) {
	var list []onesided.Operand
	if rank := e.rankOf(block); block == e.firstOf(rank) {
		for _, to := range e.begun[rank] {
			list = append(list, e.flag(e.launch(block, to), 0))
		}
	}
	enter, leave := ir.Enter, ir.Leave
	if e.onePass {
		enter, leave = ir.Relaxed, 0
	}
	e.step(ir.Step{Op: ir.Signal, Flags: enter, Pos: -1}, nil, list)
	for _, g := range groups {
		e.group(block, g)
	}
	list = nil
	first := sort.Search(len(e.leaves), func(k int) bool { return e.leaves[k][0] >= block })
	for _, pair := range e.leaves[first:] {
		if pair[0] != block {
			break
		}
		list = append(list, e.flag(e.launch(block, pair[1]), 0))
	}
	e.step(ir.Step{Op: ir.Signal, Flags: leave, Pos: -1}, nil, list)
	list = nil
	for _, from := range e.left[block] {
		key := e.launch(from, block)
		list = append(list, e.flag(key, e.raised[key]+1))
	}
	e.step(ir.Step{Op: ir.Await, Flags: leave, Pos: -1}, list, nil)
}

// group writes the waits of a group, its Moves and its signals.
func (e *oneEmitter) group(block, g int32) {
	moves := e.groups[g].moves
	pos := e.moves[moves[0]].pos
	enter := ir.Enter
	if e.onePass {
		enter = ir.Relaxed
	}
	list := e.list[:0]
	for _, owner := range e.begins[g] {
		list = append(list, e.flag(e.launch(e.firstOf(owner), block), 1))
	}
	e.step(ir.Step{Op: ir.Await, Flags: enter, Pos: pos}, list, nil)
	list = e.awaited(block, g, list[:0])
	e.step(ir.Step{Op: ir.Await, Pos: pos}, list, nil)
	for k, i := range moves {
		m := &e.moves[i]
		s := ir.Step{Op: ir.Move, Count: m.count, Class: m.class, Pos: m.pos}
		if k > 0 || e.groups[g].joint {
			s.Flags = ir.Joint
		}
		list = e.operands(e.operands(list[:0], m.srcs), m.dsts)
		e.step(s, list[:len(m.srcs)], list[len(m.srcs):])
	}
	list = list[:0]
	for _, k := range e.after[g] {
		list = append(list, e.flag(flagKey{block, e.signals[k].to, false}, 0))
	}
	e.step(ir.Step{Op: ir.Signal, Pos: pos}, nil, list)
	e.list = list
}

// awaited appends the flags that group g waits for, each once.
func (e *oneEmitter) awaited(block, g int32, list []onesided.Operand) []onesided.Operand {
	for _, w := range e.awaits[g] {
		key := flagKey{e.signals[w.signal].from, block, false}
		x := e.flag(key, e.ordinal[w.signal])
		if w.ago > 0 {
			x.Nth -= w.ago * e.raised[key]
		}
		if k := slices.IndexFunc(list, func(y onesided.Operand) bool { return y.Index == x.Index }); k >= 0 {
			list[k].Nth = max(list[k].Nth, x.Nth)
			continue
		}
		list = append(list, x)
	}
	return list
}

// operands appends spots as operands.
func (e *oneEmitter) operands(to []onesided.Operand, list []spot) []onesided.Operand {
	for _, x := range list {
		o := onesided.Operand{Rank: x.rank, Buf: x.buf, Index: x.index, Via: x.via}
		if !x.user() {
			o.Index = e.places.of[x.index]
		}
		to = append(to, o)
	}
	return to
}

// step appends a step, unless it has no operands.
func (e *oneEmitter) step(s ir.Step, srcs, dsts []onesided.Operand) {
	if len(srcs)+len(dsts) == 0 {
		return
	}
	o := e.p
	s.SrcBuf, s.DstBuf, s.DepBlock, s.DepStep = ir.NoBuf, ir.NoBuf, -1, -1
	s.Src, s.NSrc = int32(len(o.Operands)), int16(len(srcs))
	o.Operands = append(o.Operands, srcs...)
	s.Dst, s.NDst = int32(len(o.Operands)), int16(len(dsts))
	o.Operands = append(o.Operands, dsts...)
	e.p.Steps = append(e.p.Steps, s)
}

package lint

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// moves reports whether o reads or writes memory, by itself or in its body.
func moves(o *ir.ChannelOp) bool { return o.Kind.Info().Moves || o.Kind == ir.ChLoop }

// meets reports whether the threads of the block synchronise in o.
func meets(o *ir.ChannelOp) bool { return o.Kind.Info().Meets }

// meet looks at whether the threads have to synchronise at ops[i]: between the operations since they last met and those
// until they meet next. Where one of these is no plain Move it is taken to be needed.
func (l *linter) meet(ops []ir.ChannelOp, i int, loop bool) {
	if ops[i].Kind != ir.ChMeet {
		return
	}
	before, after := i, i+1
	for before > 0 && !meets(&ops[before-1]) {
		before--
	}
	for after < len(ops) && !meets(&ops[after]) {
		after++
	}
	switch {
	case after == i+1 && after < len(ops): // the next is found
	case before == i && i > 0:
		l.at(diag.LintMeet, ops[i].Pos, "two block barriers with nothing between them: one is enough")
	case loop && (before == 0 || after == len(ops)): // the turn before, or the next, is there too
	case !l.depend(ops[before:i], ops[i+1:after]):
		l.at(diag.LintMeet, ops[i].Pos, "this block barrier is not needed: nothing after it depends on anything before it")
	}
}

// depend reports whether some operation of b must not begin before some of a is over for all threads.
func (l *linter) depend(a, b []ir.ChannelOp) bool {
	for i := range a {
		for k := range b {
			if !plain(&a[i]) || !plain(&b[k]) || l.conflict(&a[i], &b[k]) {
				return true
			}
		}
	}
	return false
}

// plain reports whether o only moves data, at once.
func plain(o *ir.ChannelOp) bool {
	return o.Kind == ir.ChMove || o.Kind == ir.ChEach && o.Type != ir.PortChannel
}

// conflict reports whether two operations touch a chunk, and one writes it. Packets order their own accesses.
func (l *linter) conflict(a, b *ir.ChannelOp) bool {
	overlap := func(x, y []ir.ChannelRef) bool {
		for i := range x {
			for k := range y {
				if l.overlap(&x[i], &y[k]) {
					return true
				}
			}
		}
		return false
	}
	return overlap(a.Dsts, b.Srcs) || overlap(a.Dsts, b.Dsts) || overlap(a.Srcs, b.Dsts)
}

func (l *linter) overlap(x, y *ir.ChannelRef) bool {
	switch {
	case x.Rank == ir.AllRanks || y.Rank == ir.AllRanks:
		return true
	case x.Rank != y.Rank || x.Packets && y.Packets:
		return false
	}
	i, k := l.memory.Cell(int(x.Rank), x.Buf, int(x.Index)), l.memory.Cell(int(y.Rank), y.Buf, int(y.Index))
	return i < k+int(y.Count) && k < i+int(x.Count)
}

// relax looks for signals with nothing to release: a relaxed one takes no fence.
func (l *linter) relax(ops []ir.ChannelOp) {
	for i := range ops {
		o := &ops[i]
		if l.op = i; o.Kind == ir.ChSignal && o.Type == ir.MemoryChannel {
			l.at(diag.LintFence, o.Pos, "a signal with nothing before it that others should see: a relaxed one takes no fence")
		}
		if moves(o) || o.Kind == ir.ChAwait || o.Kind == ir.ChAcquire || o.Kind == ir.ChBarrier {
			return
		}
	}
}

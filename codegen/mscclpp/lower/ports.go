package lower

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// countPorts counts what ports are yet to put, and notes which chunks are ever written.
func (x *maker) countPorts(ported map[[2]int32]int32) {
	if len(ported) == 0 {
		return
	}
	x.stages, x.written = map[ir.ChannelRef]ir.ChannelRef{}, make([]bool, x.cells.Len())
	for i := range x.p.Steps {
		s := &x.p.Steps[i]
		if !s.Op.Moves() {
			continue
		}
		for _, d := range x.p.Dests(s) {
			x.eachRank(d, func(first int32) {
				for c := first; c < first+s.Count; c++ {
					x.written[c] = true
				}
			})
		}
	}
}

// after returns the signal to a rank that comes next, after which is what is put through the same port: count chunks.
func (x *maker) after(to, count int32) flagUse {
	f := x.ports[[2]int32{x.own, to}]
	if f == nil {
		x.say(diag.Unsupported, "nothing signals to rank %d what goes to it through a port", to).Hint = "leave out via = port"
		return flagUse{&flag{}, 0}
	}
	f.puts -= count
	return flagUse{f, f.raised}
}

// staged returns where a port finds what it is to put. The executor has ports find input and output where their
// allocation begins, wherever in that the caller's buffer does, so that what lies there is copied to scratch; what
// nobody ever writes is so once. Scratch that is double ports find in its first half: there the put stays as it is, and
// is warned of.
func (x *maker) staged(src ir.ChannelRef) ir.ChannelRef {
	if src.Buf == ir.Scratch || x.out.DoubleScratch {
		return src
	}
	to, ok := x.stages[src]
	if ok {
		return to
	}
	to = x.temp(src.Count)
	x.move(ir.ChannelOp{Kind: ir.ChMove, Type: ir.NoChannel, Srcs: []ir.ChannelRef{src}, Dsts: []ir.ChannelRef{to}})
	x.meets(true)
	first := x.cells.Cell(int(src.Rank), src.Buf, int(src.Index))
	if !slices.Contains(x.written[first:first+int(src.Count)], true) {
		x.stages[src] = to
	}
	return to
}

// puts has signals be one operation with the puts that they signal, as far as these are among what the threads did
// last, and have what is before them done. The last of a launch also waits until the port is done: its flush alone,
// which the executor has, waits for nothing. It returns the other signals.
func (x *maker) puts(ends []flagUse) (left []flagUse) {
	list := x.items[x.own]
	first := len(list)
	for first > 0 && list[first-1].op.Kind.Info().Moves && (first == len(list) || !list[first].meet) {
		first--
	}
	var ops []item
	taken := make([]bool, len(list)-first)
	for _, e := range ends {
		k := len(list) - 1
		for k >= first && !(list[k].op.Kind == ir.ChEach && len(list[k].ends) == 1 && list[k].ends[0] == e) {
			k--
		}
		if k < first {
			left = append(left, e)
			continue
		}
		taken[k-first] = true
		op := list[k].op
		if n := len(ops) - 1; n >= 0 && len(ops[n].ends) < ir.OpChannels && ops[n].op.PairsWith(&op, x.own) {
			o := &ops[n].op
			o.Srcs, o.Dsts = append(o.Srcs, op.Srcs...), append(o.Dsts, op.Dsts...)
			ops[n].ends = append(ops[n].ends, e)
		} else {
			op.Kind, op.Srcs, op.Dsts = ir.ChEachSignal, slices.Clone(op.Srcs), slices.Clone(op.Dsts)
			ops = append(ops, item{op: op, ends: []flagUse{e}})
		}
		if e.flag.puts == 0 {
			ops[len(ops)-1].op.Kind = ir.ChEachSignalFlush
		}
	}
	if len(ops) == 0 {
		return left
	}
	meet, at := list[first].meet, first
	for k := first; k < len(list); k++ {
		if !taken[k-first] {
			list[at] = list[k]
			at++
		}
	}
	if at > first {
		list[first].meet = meet
	} else {
		x.meet = meet
	}
	x.items[x.own] = list[:at]
	for _, it := range ops {
		x.add(it)
	}
	return left
}

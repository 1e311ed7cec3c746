package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// maxDepth bounds the copies of scratch and packets.
const maxDepth = 1 << 10

// form checks every number of a one-sided program, and every step by itself.
func (o *oneSided) form() bool {
	if !o.header() || !o.regions() || !o.tables() || !o.operands() {
		return false
	}
	moves := int64(0)
	for i := range o.p.Steps {
		moves += o.moved(&o.p.Steps[i])
	}
	if moves > int64(o.opt.Moves) {
		o.at(place{-1, -1, -1}, diag.Limit, -1, "the steps move %d chunks in all, and no more than %d are followed", moves, o.opt.Moves).Hint = diag.LimitHint("moves", moves)
		return false
	}
	for r := range o.p.Rank {
		tbs := o.p.TBsOf(r)
		for b := range tbs {
			o.block(r, b, &tbs[b])
		}
	}
	return len(o.List) == 0
}

// moved is the number of chunks that s reads and writes, those of others through
// the switch included.
func (o *oneSided) moved(s *ir.Step) int64 {
	n := int64(0)
	for _, x := range o.both(s) {
		if x.Rank == ir.AllRanks {
			n += int64(o.p.Coll.Ranks)
		} else {
			n++
		}
	}
	return n * int64(max(s.Count, 1))
}

// both returns the sources and the destinations of s, which follow them.
func (o *oneSided) both(s *ir.Step) []ir.Operand {
	return o.p.OneSided.Operands[s.Src : s.Dst+int32(s.NDst)]
}

// regions checks the sizes of packets, flags and copies.
func (o *oneSided) regions() bool {
	x := o.p.OneSided
	if x.Depth < 1 {
		return o.malformed("there are %d copies of scratch and packets", x.Depth)
	}
	if x.Depth > maxDepth {
		o.at(place{-1, -1, -1}, diag.Limit, -1, "there are %d copies of scratch and packets, and up to %d are followed", x.Depth, maxDepth)
		return false
	}
	for _, table := range []struct {
		name string
		n    []int32
	}{{"packets", x.Packets}, {"flags", x.Flags}} {
		if table.n != nil && len(table.n) != o.p.Coll.Ranks {
			return o.malformed("there are %s of %d ranks, and the collective has %d ranks", table.name, len(table.n), o.p.Coll.Ranks)
		}
		total := 0
		for r, n := range table.n {
			if n < 0 {
				return o.malformed("rank %d has %d %s", r, n, table.name)
			}
			total += int(n)
			if n > 0 && table.name == "packets" && o.p.Protocol == ir.Simple {
				return o.malformed("rank %d has %d chunks of packets, and %v has no packets", r, n, o.p.Protocol)
			}
		}
		if most := min(o.opt.Cells, math.MaxInt32); total > most {
			o.at(place{-1, -1, -1}, diag.Limit, -1, "all ranks have %d %s, and no more than %d are followed", total, table.name, most).Hint = diag.LimitHint("cells", int64(total))
			return false
		}
	}
	return true
}

// operands checks that the steps' operands follow each other, each row of one.
func (o *oneSided) operands() bool {
	at := int32(0)
	for i := range o.p.Steps {
		s := &o.p.Steps[i]
		if s.Src != at || s.NSrc < 0 || s.NDst < 0 || s.Dst != at+int32(s.NSrc) || int(s.Dst)+int(s.NDst) > len(o.p.OneSided.Operands) {
			return o.malformed("%s does not have the operands from %d on", o.name(int32(i)), at)
		}
		at = s.Dst + int32(s.NDst)
	}
	if int(at) != len(o.p.OneSided.Operands) {
		return o.malformed("some operands belong to no step")
	}
	return true
}

// block checks the steps of a block.
func (o *oneSided) block(r, b int, t *ir.TB) {
	if t.SendPeer != -1 || t.RecvPeer != -1 {
		o.at(place{r, b, -1}, diag.Malformed, -1, "rank %d block %d has peers, which one-sided blocks have not", r, b)
	}
	if t.Channel < 0 || int(t.Channel) >= max(1, o.p.Channels) {
		o.at(place{r, b, -1}, diag.OutOfBounds, -1, "rank %d block %d is on channel %d of %d", r, b, t.Channel, o.p.Channels)
	}
	steps := o.p.StepsOf(t)
	for i := range steps {
		s := &steps[i]
		bad := func(code diag.Code, format string, args ...any) {
			o.at(place{r, b, i}, code, s.Pos, "rank %d block %d step %d (%v) %s", r, b, i, s.Op, fmt.Sprintf(format, args...))
		}
		if code, wrong := o.stepFault(s); wrong != "" {
			bad(code, "%s", wrong)
			continue
		}
		if i > 0 && (s.Flags^steps[0].Flags)&ir.Loose != 0 {
			bad(diag.Malformed, "is loose, and the first of its block is not, or the other way round")
		}
		switch {
		case s.Flags&ir.Joint == 0:
		case i == 0:
			bad(diag.Malformed, "is joint, and no step stands before it")
		case (s.Flags^steps[i-1].Flags)&(ir.Enter|ir.Leave) != 0:
			bad(diag.Malformed, "is joint with a step that runs in other passes")
		}
		good := true
		for k, x := range o.both(s) {
			if code, wrong := o.operandFault(r, s, &x, k < int(s.NSrc)); wrong != "" {
				bad(code, "%s", wrong)
				good = false
			}
		}
		if good {
			o.overlaps(s, bad)
		}
	}
}

// stepFault says what is wrong with a step, but for its operands.
func (o *oneSided) stepFault(s *ir.Step) (diag.Code, string) {
	const each = ir.Enter | ir.Leave
	move := s.Op == ir.Move
	switch {
	case s.Op >= ir.NumOps || !s.Op.Info().OneSided || s.Flags&^(ir.Final|ir.Joint|ir.Relaxed|ir.Loose|each) != 0:
		return diag.Malformed, fmt.Sprintf("is operation %d with flags %d", s.Op, s.Flags)
	case s.SrcBuf != ir.NoBuf || s.DstBuf != ir.NoBuf || s.DepBlock != -1:
		return diag.Malformed, "has the operands or the wait of a two-sided step"
	case move && s.Flags&each != 0:
		return diag.Malformed, "moves data, which is part of every pass, and is marked enter or leave"
	case !move && s.Flags&ir.Final != 0:
		return diag.Malformed, "moves nothing, and is marked final"
	case s.Flags&ir.Loose != 0 && !o.p.OneSided.OnePass:
		return diag.Malformed, "is loose, and launches have many passes"
	case move && s.Flags&ir.Relaxed != 0:
		return diag.Malformed, "moves data, and is marked relaxed"
	case s.Flags&each == each:
		return diag.Malformed, "is marked enter and leave"
	case move && s.Count < 1:
		return diag.Malformed, fmt.Sprintf("moves %d chunks", s.Count)
	case move && (s.Class < 0 || int(s.Class) >= max(1, o.p.Coll.Chunks)):
		return diag.Malformed, fmt.Sprintf("begins at class %d of %d", s.Class, o.p.Coll.Chunks)
	case !move && (s.Count != 0 || s.Class != 0):
		return diag.Malformed, "moves nothing, and has a count or a class"
	case (s.NSrc > 0) != (s.Op != ir.Signal) || (s.NDst > 0) != (s.Op != ir.Await):
		return diag.Malformed, fmt.Sprintf("has %d sources and %d destinations", s.NSrc, s.NDst)
	}
	return "", ""
}

// operandFault says what is wrong with an operand of s, a step of rank.
func (o *oneSided) operandFault(rank int, s *ir.Step, x *ir.Operand, source bool) (diag.Code, string) {
	role := "destination"
	if source {
		role = "source"
	}
	if x.Rank != ir.AllRanks && (x.Rank < 0 || int(x.Rank) >= o.p.Coll.Ranks) {
		return diag.OutOfBounds, fmt.Sprintf("has a %s on rank %d of %d", role, x.Rank, o.p.Coll.Ranks)
	}
	all := x.Rank == ir.AllRanks
	switch {
	case x.Via > ir.ViaSwitch:
		return diag.Malformed, fmt.Sprintf("has a %s by way %d", role, x.Via)
	case (s.Op == ir.Move) == (x.Buf == ir.Flags):
		return diag.Malformed, fmt.Sprintf("has %v as its %s", x.Buf, role)
	case x.Buf > ir.Flags:
		return diag.Malformed, fmt.Sprintf("has no buffer as its %s", role)
	case all && x.Buf > ir.Scratch:
		return diag.Malformed, fmt.Sprintf("has %v of all ranks as its %s, and the switch reads and writes plain data", x.Buf, role)
	case all && x.Via != ir.ViaAny && x.Via != ir.ViaSwitch || !all && x.Via == ir.ViaSwitch:
		return diag.Malformed, fmt.Sprintf("has a %s by way of %v, and the switch is for what all ranks have", role, x.Via)
	case source && x.Buf >= ir.Packets && int(x.Rank) != rank:
		return diag.Malformed, fmt.Sprintf("has %v of rank %d as its source, and waits for its own only", x.Buf, x.Rank)
	case s.Op != ir.Await && x.Nth != 0:
		return diag.Malformed, fmt.Sprintf("counts to %d at a %s that is not awaited", x.Nth, role)
	}
	first, end := int(x.Rank), int(x.Rank)+1
	if all {
		first, end = 0, o.p.Coll.Ranks
	}
	for r := first; r < end; r++ {
		size, n := o.size(r, x.Buf), int64(max(s.Count, 1))
		if x.Index < 0 || int64(x.Index)+n > int64(size) {
			return diag.OutOfBounds, fmt.Sprintf("has %v[%d]*%d of rank %d as its %s, and that has %d", x.Buf, x.Index, n, r, role, size)
		}
	}
	return "", ""
}

// size is the number of chunks, or flags, of a buffer of rank.
func (o *oneSided) size(rank int, b ir.Buf) int {
	table := func(n []int32) int {
		if n == nil {
			return 0
		}
		return int(n[rank])
	}
	switch b {
	case ir.Input:
		return o.p.Coll.InChunks(rank)
	case ir.Output:
		return o.p.Coll.OutChunks(rank)
	case ir.Scratch:
		return table(o.p.Scratch)
	case ir.Packets:
		return table(o.p.OneSided.Packets)
	}
	return table(o.p.OneSided.Flags)
}

// A span is where an operand lies: the first of its cells, or its flag.
type span struct {
	rank, at int
	dest     bool
}

// overlaps reports operands of s that overlap and may not: destinations with
// each other, or with a source in part; and flags that come twice.
func (o *oneSided) overlaps(s *ir.Step, bad func(diag.Code, string, ...any)) {
	spans := o.spans[:0]
	mem := o.memory()
	for k, x := range o.both(s) {
		if s.Op != ir.Move {
			spans = append(spans, span{int(x.Rank), int(x.Index), true})
			continue
		}
		first, end := int(x.Rank), int(x.Rank)+1
		if x.Rank == ir.AllRanks {
			first, end = 0, o.p.Coll.Ranks
		}
		for r := first; r < end; r++ {
			spans = append(spans, span{r, mem.Cell(r, x.Buf, int(x.Index)), k >= int(s.NSrc)})
		}
	}
	o.spans = spans
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.rank-b.rank, a.at-b.at) })
	var last [2]*span // the last source and the last destination that begin before this span
	for at := 0; at < len(spans); {
		x, end, dests := &spans[at], at, 0
		for ; end < len(spans) && spans[end].rank == x.rank && spans[end].at == x.at; end++ {
			if spans[end].dest {
				dests++
			}
		}
		near := func(y *span) bool { return y != nil && y.rank == x.rank && y.at+int(max(s.Count, 1)) > x.at }
		switch {
		case dests > 1 || near(last[1]) && dests > 0:
			bad(diag.Overlap, "has two destinations, or flags, that overlap")
			return
		case near(last[1]) || dests > 0 && near(last[0]):
			bad(diag.Overlap, "has a source and a destination that overlap in part")
			return
		}
		for k := at; k < end; k++ {
			last[b2i(spans[k].dest)] = &spans[k]
		}
		at = end
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// memory lays out the cells, once they are known to be few enough.
func (o *oneSided) memory() *ir.Memory {
	if o.cells == nil {
		o.cells = o.p.Memory()
	}
	return o.cells
}

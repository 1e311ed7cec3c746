package core

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// A oneRun is an operation, or a part of one. The chunks of each of its operands are neighbours in memory, and their
// classes follow each other.
type oneRun struct {
	srcs  []spot
	dst   spot
	count int32
	class int32
	pos   int32
	hint  int32
}

// runs makes runs of the operations, in their order. Each value that is written to scratch gets a slot of its own, so
// that no write has to wait until the value before has been read.
func runs(l *State) (int, error) {
	s := l.scratch()
	l.class = make([]int32, l.cells())
	for r := range l.n {
		for _, b := range [2]ir.Buf{ir.Input, ir.Output} {
			chunks := l.c.Coll.InChunks(int(r))
			if b == ir.Output {
				chunks = l.c.Coll.OutChunks(int(r))
			}
			for i := range chunks {
				l.class[l.mem.Cell(int(r), b, i)] = int32(l.c.Coll.Class(i))
			}
		}
	}
	runs := make([]oneRun, 0, len(l.c.Ops))
	for i := 0; i < len(l.c.Ops); {
		op := &l.c.Ops[i]
		srcs, dst := l.c.Sources(op), op.Dst
		ops := 1
		if l.c.Hints[op.Hint].Via == ir.ViaSwitch {
			var err error
			if ops, err = l.viaSwitch(i); err != nil {
				return 0, err
			}
			if op.NSrc > 1 {
				srcs = slices.Clone(srcs[:1])
				srcs[0].Rank = ir.AllRanks
			} else {
				dst.Rank = ir.AllRanks
			}
		}
		runs = s.op(op, srcs, dst, runs)
		if len(runs) > l.most || l.full() {
			return 0, l.tooLarge(op.Pos, len(runs))
		}
		i += ops
	}
	l.even = l.even || s.uneven()
	l.runs, l.class = runs, nil
	return len(runs), nil
}

// A oneScratch holds in which slots the chunks of the file's scratch buffers are now.
type oneScratch struct {
	*State
	base  []int   // by buffer: the number of its first chunk within a rank
	each  int32   // chunks of a rank
	at    []int32 // by chunk: its slot
	wrote []bool  // by chunk: it was written
	mixed bool    // an operation has operands of different classes
}

func (l *State) scratch() *oneScratch {
	s := &oneScratch{State: l, base: l.c.ScratchBase()}
	for _, b := range l.c.Scratch {
		s.each += int32(b.Chunks)
	}
	s.at, s.wrote = make([]int32, s.each*l.n), make([]bool, s.each*l.n)
	for i := range s.at {
		s.at[i] = int32(i)
	}
	l.slot(s.each * l.n)
	return s
}

// uneven reports whether an operation has chunks of different lengths when sizes do not divide evenly.
func (s *oneScratch) uneven() bool {
	for out, parts := range s.c.Coll.Require {
		for _, p := range parts {
			s.mixed = s.mixed || s.c.Coll.Class(int(out.Index)) != s.c.Coll.Class(int(p.Index))
		}
	}
	return s.mixed
}

// chunk returns the number of chunk i of x, which is of scratch, among the chunks of all ranks.
func (s *oneScratch) chunk(x ir.Ref, i int32) int32 {
	return x.Rank*s.each + int32(s.base[x.Buf-ir.Scratch]) + x.Index + i
}

// spot returns where chunk i of x is now.
func (s *oneScratch) spot(x ir.Ref, i int32) spot {
	if x.Buf < ir.Scratch {
		return spot{rank: x.Rank, buf: x.Buf, index: x.Index + i}
	}
	return spot{rank: x.Rank, buf: ir.Scratch, index: s.at[s.chunk(x, i)]}
}

// target returns where count chunks from x on are to be written.
func (s *oneScratch) target(x ir.Ref, count int32) spot {
	if x.Buf < ir.Scratch {
		return s.spot(x, 0)
	}
	again := false
	for i := range count {
		again = again || s.wrote[s.chunk(x, i)]
	}
	if !again {
		return s.spot(x, 0)
	}
	return spot{rank: x.Rank, buf: ir.Scratch, index: s.slot(count)}
}

// op appends the runs of an operation.
func (s *oneScratch) op(op *ir.ChunkOp, srcs []ir.Ref, dst ir.Ref, runs []oneRun) []oneRun {
	to := s.target(dst, op.Count)
	if more := int(s.cells()) - len(s.class); more > 0 {
		s.class = append(s.class, make([]int32, more)...)
	}
	chunks := int32(max(s.c.Coll.Chunks, 1))
	for i := range op.Count {
		class := s.classOf(s.spot(srcs[0], i))
		fits := i > 0
		if last := len(runs) - 1; fits {
			r := &runs[last]
			fits = s.even || (r.class+r.count)%chunks == class
			for k := 0; fits && k < len(srcs); k++ {
				fits = s.spot(srcs[k], i).index == r.srcs[k].index+r.count
			}
		}
		if !fits {
			at := to
			at.index += i
			r := oneRun{dst: at, class: class, pos: op.Pos, hint: op.Hint, srcs: s.list(len(srcs))}
			for k := range srcs {
				r.srcs[k] = s.spot(srcs[k], i)
			}
			runs = append(runs, r)
		}
		runs[len(runs)-1].count++
		s.setClass(srcs, to, i, class)
	}
	if dst.Buf >= ir.Scratch {
		for i := range op.Count {
			c := s.chunk(dst, i)
			s.at[c], s.wrote[c] = to.index+i, true
		}
	}
	return runs
}

func (s *oneScratch) classOf(x spot) int32 { return s.class[s.cell(x, max(x.rank, 0))] }

// setClass records the class of chunk i, and whether the operation has operands of another class.
func (s *oneScratch) setClass(srcs []ir.Ref, to spot, i, class int32) {
	for k := range srcs {
		s.mixed = s.mixed || s.classOf(s.spot(srcs[k], i)) != class
	}
	to.index += i
	if to.user() && int32(s.c.Coll.Class(int(to.index))) != class {
		s.mixed = true // chunks of input and output have the length that their index gives
	}
	s.fill(s.class, to, 1, class)
}

// viaSwitch returns how many operations from i on make one operation of the switch: one that reduces the same chunks of
// all ranks, or copies of one source to the same chunks of all ranks.
func (l *State) viaSwitch(i int) (int, error) {
	op := &l.c.Ops[i]
	refuse := func(format string, args ...any) error {
		return diag.List{diag.New(diag.Hint, l.c.Span(op.Pos), format, args...).
			WithHint("via = switch reduces one chunk of all ranks, or copies to one place of all ranks, in input or output")}
	}
	if node := int32(l.c.RanksPerNode); node > 0 && node < l.n {
		return 0, refuse("a switch reaches the ranks of one node, and of the %d ranks a node has %d", l.n, node)
	}
	seen, ops := make([]bool, l.n), 1
	same := op.Dst
	if srcs := l.c.Sources(op); op.NSrc > 1 {
		same = srcs[0]
		for _, s := range srcs {
			if s.Buf != same.Buf || s.Index != same.Index || seen[s.Rank] {
				return 0, refuse("the switch cannot reduce these: they are not one chunk of every rank")
			}
			seen[s.Rank] = true
		}
	} else {
		src := srcs[0]
		cell := func(x ir.Ref) int { return l.mem.Cell(int(x.Rank), x.Buf, int(x.Index)) }
		own := same
		if own.Rank = src.Rank; src.Buf < ir.Scratch && same.Buf < ir.Scratch && l.has(own, op.Count) &&
			cell(own) == cell(src) {
			seen[src.Rank] = true // it is there
		}
		for k := i; k < len(l.c.Ops); k++ {
			o := &l.c.Ops[k]
			if o.Hint != op.Hint || o.NSrc != 1 || o.Count != op.Count || l.c.Srcs[o.Src] != src ||
				o.Dst.Buf != same.Buf || o.Dst.Index != same.Index || k > i && seen[o.Dst.Rank] {
				break
			}
			seen[o.Dst.Rank] = true
			ops = k - i + 1
		}
	}
	if slices.Contains(seen, false) {
		return 0, refuse("the switch reaches all ranks, and rank %d is not among these", slices.Index(seen, false))
	}
	if same.Buf >= ir.Scratch {
		return 0, refuse("the switch does not reach scratch")
	}
	return ops, nil
}

// has reports whether x's rank has count chunks from x on.
func (l *State) has(x ir.Ref, count int32) bool {
	chunks := l.c.Coll.InChunks(int(x.Rank))
	if x.Buf == ir.Output {
		chunks = l.c.Coll.OutChunks(int(x.Rank))
	}
	return int(x.Index+count) <= chunks
}

package fifo

import (
	"cmp"
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
)

// Lower writes the operations of c as instructions, in c's order and not
// placed: a copy or a reduction between ranks becomes a send with a receive
// right after it, and what parallelize and opt.Instances ask for becomes parts
// of the operation on sub-chunks. c is not changed.
func Lower(c *ir.ChunkDAG, opt Options) (*ir.InstDAG, error) {
	if len(c.Then) > 0 {
		return nil, diag.List{diag.New(diag.Unsupported, c.Declaration,
			"the program has an epilogue, and two-sided programs have none").
			WithHint("compile it to one-sided steps: leave --sided out, and use --target program")}
	}
	ways, err := commonWays(c, max(opt.Instances, 1))
	if err != nil {
		return nil, err
	}
	split := chooseSplit(c, ways, max(opt.Instances, 1))
	coll := c.Coll.Refine(split)
	l := &lowering{c: c, opt: opt, split: split, chunks: int32(max(coll.Chunks, 1))}
	d := &ir.InstDAG{Header: c.Header, Hints: c.Hints, Scratch: c.ScratchChunks(), Even: opt.Dense}
	d.Coll = coll
	d.Sizes = opt.Limits.Sized(d.Sizes)
	for r := range d.Scratch {
		d.Scratch[r] *= int32(ways)
	}
	l.d, l.mem = d, ir.NewMemory(coll, d.Scratch)
	l.begin()
	most := cmp.Or(opt.MaxInsts, ir.UsualInsts)
	d.Insts = make([]ir.Inst, 0, min(l.estimate(), most))
	for i := range c.Ops {
		l.op(&c.Ops[i])
		if len(d.Insts) > most {
			return nil, diag.List{diag.New(diag.Limit, c.Span(c.Ops[i].Pos), "the program has more than %d instructions", most).
				WithHint("fewer instances or a lower degree of parallelize make fewer; %s", ir.MoreInsts(max(most, l.estimate())))}
		}
	}
	d.Even = d.Even || l.uneven
	return d, nil
}

// A lowering is the state of one Lower.
type lowering struct {
	c      *ir.ChunkDAG
	d      *ir.InstDAG
	opt    Options
	split  ir.Split
	mem    *ir.Memory    // without temporaries
	class  *eval.Classes // of what each cell holds now
	chunks int32         // number of classes
	base   []int32       // where each of c's scratch buffers begins, in sub-chunks
	uneven bool
	seq    int32

	// The run being gathered: sub-chunks that are neighbours in every operand.
	run  run
	srcs []place1
	at   []place1 // room for sources
}

// A place1 is a sub-chunk of a rank's buffer in the InstDAG's numbering.
type place1 struct {
	rank, index int32
	buf         ir.Buf
}

type run struct {
	op    *ir.ChunkOp
	dst   place1
	count int32
	class int32
	part  int32
}

func (l *lowering) begin() {
	at := int32(0)
	for _, s := range l.c.Scratch {
		l.base = append(l.base, at)
		at += int32(s.Chunks * l.split.Ways)
	}
	l.class = eval.NewClasses(l.d.Coll, l.mem.Len())
	for r := range l.d.Coll.Ranks {
		l.class.Set(l.mem.Cell(r, ir.Input, 0), l.d.Coll.InChunks(r), 0)
	}
	for out, parts := range l.d.Coll.Require {
		for _, p := range parts {
			l.uneven = l.uneven || l.d.Coll.Class(int(out.Index)) != l.d.Coll.Class(int(p.Index))
		}
	}
}

func (l *lowering) estimate() int {
	n := 0
	for i := range l.c.Ops {
		op := &l.c.Ops[i]
		n += 2 * max(int(op.NSrc)-1, 1) * int(op.Ways) * max(l.opt.Instances, 1)
	}
	return n
}

// op lowers one operation: it walks each part's sub-chunks and emits a run
// whenever the next one is no neighbour, or of another class than follows.
func (l *lowering) op(op *ir.ChunkOp) {
	ways := int(op.Ways) * max(l.opt.Instances, 1)
	each := l.split.Ways / ways
	for part := range ways {
		switch {
		case l.split.Blocked:
			for w := part * each; w < (part+1)*each; w++ {
				for i, n := 0, 0; i < int(op.Count); i += n {
					n = l.within(op, i)
					l.stretch(op, part, i, w, n)
				}
			}
		case ways == 1:
			l.stretch(op, part, 0, 0, int(op.Count)*each)
		default:
			for i := range int(op.Count) {
				l.stretch(op, part, i, part*each, each)
			}
		}
		l.flush()
	}
}

// within returns how many chunks from chunk i of op on are in one piece in every operand, so that where they are cut
// blocked, their first sub-chunks are neighbours, and so are their second.
func (l *lowering) within(op *ir.ChunkOp, i int) int {
	n := int(op.Count) - i
	if l.split.Ways == 1 {
		return n
	}
	piece := func(ref ir.Ref) {
		size := l.c.Coll.Chunks
		if ref.Buf >= ir.Scratch {
			size = l.c.Scratch[ref.Buf-ir.Scratch].Chunks
		}
		n = min(n, size-(int(ref.Index)+i)%size)
	}
	piece(op.Dst)
	for _, src := range l.c.Sources(op) {
		piece(src)
	}
	return n
}

// stretch adds n sub-chunks that are neighbours in every operand to runs, from sub-chunk w of the operation's chunk i
// on.
func (l *lowering) stretch(op *ir.ChunkOp, part, i, w, n int) {
	dst, sources := l.place(op.Dst, i, w), l.sources(op, i, w)
	for n > 0 {
		first := l.cell(sources[0])
		class := l.class.Of(first)
		m := l.class.Alike(first, n, class)
		if room := l.follows(dst, sources, class); room > 0 {
			m = min(m, room)
		} else {
			l.flush()
			l.run = run{op: op, dst: dst, class: int32(class), part: int32(part)}
			l.srcs = append(l.srcs[:0], sources...)
			if most := l.opt.Limits.Count; most > 0 {
				m = min(m, most)
			}
		}
		l.run.count += int32(m)
		l.moved(dst, sources, m, class)
		dst.index += int32(m)
		for k := range sources {
			sources[k].index += int32(m)
		}
		n -= m
	}
}

// follows returns how many sub-chunks, the first of which has a class, can go on with the run.
func (l *lowering) follows(dst place1, sources []place1, class int) int {
	r, room := &l.run, math.MaxInt
	if l.opt.Limits.Count > 0 {
		room = l.opt.Limits.Count - int(r.count)
	}
	fits := r.count > 0 && dst.index == r.dst.index+r.count && (l.d.Even || int(r.class+r.count)%int(l.chunks) == class)
	for k := 0; fits && k < len(sources); k++ {
		fits = sources[k].index == l.srcs[k].index+r.count
	}
	if !fits {
		return 0
	}
	return room
}

// moved notes the classes of n sub-chunks, and whether any meet that are of different ones.
func (l *lowering) moved(dst place1, sources []place1, n, class int) {
	for k := range sources {
		l.uneven = l.uneven || l.class.Alike(l.cell(sources[k]), n, class) < n
	}
	if dst.buf != ir.Scratch && l.d.Coll.Class(int(dst.index)) != class {
		l.uneven = true // chunks of input and output have the length of their place
	}
	l.class.Set(l.cell(dst), n, class)
}

// sources returns where sub-chunk w of chunk i of the operands of op lies, until the next call.
func (l *lowering) sources(op *ir.ChunkOp, i, w int) []place1 {
	l.at = l.at[:0]
	for _, src := range l.c.Sources(op) {
		l.at = append(l.at, l.place(src, i, w))
	}
	return l.at
}

// place returns where sub-chunk w of chunk i of the run that begins at ref lies.
func (l *lowering) place(ref ir.Ref, i, w int) place1 {
	index := int(ref.Index) + i
	if ref.Buf >= ir.Scratch {
		k := ref.Buf - ir.Scratch
		return place1{ref.Rank, l.base[k] + int32(l.split.Index(index, w, l.c.Scratch[k].Chunks)), ir.Scratch}
	}
	if l.split.Ways == 1 {
		return place1{ref.Rank, int32(index), ref.Buf}
	}
	return place1{ref.Rank, int32(l.split.Index(index, w, l.c.Coll.Chunks)), ref.Buf}
}

func (l *lowering) cell(p place1) int { return l.mem.Cell(int(p.rank), p.buf, int(p.index)) }

// Package eval defines the meaning of programs: it runs them on symbolic chunks. A Machine holds the memory of all
// ranks as ranges of neighbouring chunks (Cells). Values holds the sums that are in these chunks. [Chunks] evaluates a
// ChunkDAG, [Insts] an InstDAG, and [OneSided] a one-sided program. Each compares the outputs with the result that the
// collective requires. [Wire] pairs the sends and receives of connections, and [Link] the signals and waits of flags.
package eval

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/form"
)

// Chunks runs d on symbolic chunks and reports reads of chunks that hold
// nothing, and outputs that do not hold what the collective says. What d
// refers to must exist, which form.CheckChunks checks.
func Chunks(d *ir.ChunkDAG) diag.List {
	var p ir.Problems
	m := NewMachine(d.Coll, ir.NewMemory(d.Coll, d.ScratchChunks()))
	base := d.ScratchBase()
	cell := func(r *ir.Ref) int {
		if r.Buf >= ir.Scratch {
			return m.Mem.Cell(int(r.Rank), ir.Scratch, base[r.Buf-ir.Scratch]+int(r.Index))
		}
		return m.Mem.Cell(int(r.Rank), r.Buf, int(r.Index))
	}
	for i := range d.Ops {
		op := &d.Ops[i]
		reported := false
		m.total.Reset()
		for _, src := range d.Sources(op) {
			at := cell(&src)
			if m.second = m.cells.Read(m.second[:0], at, int(op.Count)); !reported && Nothing(m.second) {
				if n := m.cells.Find(at, int(op.Count), unwritten); n >= 0 {
					reported = true
					p.Add(neverWritten(d, op, &src, n))
				}
			}
			m.total.Add(m.Values, m.second)
		}
		m.cells.Write(cell(&op.Dst), int(op.Count), int32(i), m.total.Runs())
	}
	m.judge(&p, &d.Header, func(op int32) diag.Diagnostic {
		g := diag.New(diag.WrongResult, d.Span(d.Ops[op].Pos), "this")
		g.Rank = int(d.Ops[op].Dst.Rank)
		return g
	})
	return p.Done()
}

func neverWritten(d *ir.ChunkDAG, op *ir.ChunkOp, src *ir.Ref, k int) diag.Diagnostic {
	name := src.Buf.String()
	g := diag.New(diag.Uninitialized, d.Span(op.Pos), "")
	if src.Buf >= ir.Scratch {
		decl := &d.Scratch[src.Buf-ir.Scratch]
		name = decl.Name
		g = g.WithNote(decl.Span, "%s is declared here, with %d chunks", name, decl.Chunks)
	}
	g.Rank = int(src.Rank)
	g.Text = diag.New("", diag.Span{}, "rank %d reads %s[%d] before anything writes it", src.Rank, name,
		int(src.Index)+k).Text
	return g
}

// Insts runs d on symbolic chunks in source order and reports reads of
// chunks that hold nothing, operands that disagree in class where d is not
// Even, and outputs that do not hold what the collective says. It trusts no
// number in d.
func Insts(d *ir.InstDAG) diag.List {
	if list := form.CheckInsts(d); len(list) > 0 {
		return list
	}
	var p ir.Problems
	m := NewMachine(d.Coll, d.Memory())
	m.Read = func(i int32, rank int, b ir.Buf, index int) {
		p.Add(d.Problem(i, diag.Uninitialized, "%s reads rank %d %v[%d] before anything writes it", d.Label(i),
			rank, b, index))
	}
	if !d.Even {
		m.Class = func(i int32, rank int, b ir.Buf, index int) {
			in := &d.Insts[i]
			p.Add(d.Problem(i, diag.Uneven, "%s moves chunks of classes from %d on, and rank %d %v[%d] is of another",
				d.Label(i), in.Class, rank, b, index))
		}
	}
	run(d, m, &p)
	m.judge(&p, &d.Header, func(i int32) diag.Diagnostic { return d.Problem(i, diag.WrongResult, "%s", d.Label(i)) })
	return p.Done()
}

// run executes d's instructions on m in source order.
func run(d *ir.InstDAG, m *Machine, p *ir.Problems) {
	sent := make([]message, len(d.Insts))
	for _, i := range d.BySeq() {
		in := &d.Insts[i]
		info := in.Op.Info()
		a := Action{Op: in.Op, SrcBuf: in.SrcBuf, DstBuf: in.DstBuf, Rank: in.Rank, Src: in.Src, Dst: in.Dst, Count: in.Count,
			Class: in.Class}
		var got []Run
		if info.Receives {
			from := &sent[in.RecvMate]
			if from.count == 0 {
				p.Add(d.Problem(i, diag.Unmatched, "%s receives from %s, which comes after it", d.Label(i), d.Label(in.RecvMate)))
				got = []Run{{None, in.Count}}
			} else {
				got = m.pool.take(*from)
				from.count = 0
			}
		}
		if out := m.Exec(i, &a, got); info.Sends {
			sent[i] = m.pool.put(out)
		}
	}
}

package lang

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file compiles and makes the copies and reduces that say which thread
// block does them.

// A blockOp compiles an operation of a reference that says which thread block does it.
type blockOp func(c *compiler, on func() ref, f *syntax.Name, args *syntax.Args, of, span diag.Span) code

// blockOpOf finds a blockOp by its name, and what messages say that it does to the reference. It returns nil of another
// name.
func blockOpOf(name string) (op blockOp, done string) {
	switch name {
	case "copy":
		return (*compiler).blockCopy, "copied"
	case "reduce":
		return (*compiler).blockReduceOnto, "reduced"
	}
	return nil, ""
}

// blockCopy compiles src.copy(rank, buffer, index, tb = ...), within a rank.
func (c *compiler) blockCopy(src func() ref, f *syntax.Name, args *syntax.Args, of, span diag.Span) code {
	rest, how := c.doing(f, args.List, span, []string{"tb", "sync", "packets"})
	if how == nil {
		return c.badCode()
	}
	bound := c.bind(f.Text, rest, []string{"rank", "buffer", "index"}, func(i int) bool { return i < 1 }, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m, s := c.m, c.newSite(span, of, args.Span())
	rank, place := c.number(bound[0], kInt, "the rank"), c.placeOf(bound[1], bound[2])
	return code{kind: kRef, ref: func() ref {
		r := src()
		to := rank.get()
		b, i := place.of(r)
		d := how.get(m)
		if m.bad || m.level(span) == nil {
			return ref{}
		}
		if to != int64(r.rank) {
			d := m.fault(diag.Channel, s.span, "a thread block copies within its rank, and this is from rank %d to rank %d",
				r.rank, to)
			d.Hint = "put and get of a channel copy between ranks"
			return ref{}
		}
		return m.blockReduce(s, []ref{r}, r.rank, b, i, nil, &d)
	}}
}

// blockReduceOnto compiles c.reduce(other, ..., tb = ..., to = ...).
func (c *compiler) blockReduceOnto(on func() ref, f *syntax.Name, args *syntax.Args, of, span diag.Span) code {
	rest, how := c.doing(f, args.List, span, []string{"tb", "sync", "packets", "to"})
	if how == nil {
		return c.badCode()
	}
	if len(rest) == 0 {
		c.m.report(diag.Arguments, span, "reduce lacks what is reduced into the chunk")
		return c.badCode()
	}
	m, s := c.m, c.newSite(span, args.Span(), of)
	others := c.operandList(rest, f.Text)
	if others == nil {
		return c.badCode()
	}
	return code{kind: kRef, ref: func() ref {
		r := on()
		d := how.get(m)
		if m.bad || m.level(span) == nil {
			return ref{}
		}
		s.operands = append(s.operands[:0], r)
		for i := range others {
			s.operands = others[i].add(m, s.operands)
		}
		return m.blockReduce(s, s.operands, r.rank, r.buf, int64(r.index), how.to, &d)
	}}
}

// blockReduceCall compiles reduce(list, rank, buffer, index, tb = ..., to = ...).
func (c *compiler) blockReduceCall(args *syntax.Args, span diag.Span) code {
	f := &syntax.Name{Text: "reduce"}
	rest, how := c.doing(f, args.List, span, []string{"tb", "sync", "packets", "to"})
	if how == nil {
		return c.badCode()
	}
	bound := c.bind("reduce", rest, []string{"list", "rank", "buffer", "index"}, all, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m, s := c.m, c.newSite(span, bound[0].Span(), args.Span())
	from, rank := c.of(bound[0], kList, "what is reduced"), c.number(bound[1], kInt, "the rank")
	buffer, index := c.number(bound[2], kBuffer, "the buffer"), c.number(bound[3], kInt, "the index")
	return code{kind: kRef, ref: func() ref {
		v := from()
		r, b, i := rank.get(), ir.Buf(buffer.get()), index.get()
		d := how.get(m)
		if m.bad || m.level(span) == nil || !m.rankAt(r, s.dst) {
			return ref{}
		}
		s.operands = m.flatten(s.operands[:0], &v, s.src, 0)
		return m.blockReduce(s, s.operands, int32(r), b, i, how.to, &d)
	}}
}

// blockReduce has blocks of rank write the reduction of refs to index of b, and
// to what to says, and returns the first.
func (m *machine) blockReduce(s *site, refs []ref, rank int32, b ir.Buf, index int64, to *operand, d *done) ref {
	if m.bad {
		return ref{}
	}
	if len(refs) == 0 {
		m.fault(diag.Arguments, s.src, "reduce of an empty list: there is nothing to write")
		return ref{}
	}
	dst, ok := m.place(s, rank, b, index, refs[0].count)
	if !ok {
		return ref{}
	}
	dsts := []ref{dst}
	if to != nil {
		if dsts = to.add(m, dsts); m.bad {
			return ref{}
		}
		for _, r := range dsts[1:] {
			if _, ok := m.place(s, r.rank, r.buf, int64(r.index), r.count); !ok {
				return ref{}
			}
		}
	}
	op := ir.ChannelOp{Name: "reduce", Kind: ir.ChMove, Type: ir.NoChannel}
	if len(refs) == 1 {
		op.Name = "copy"
	}
	if op.Srcs = m.operandsOf(s, rank, refs, dsts, &op, d); op.Srcs == nil {
		return ref{}
	}
	if op.Dsts = m.operandsOf(s, rank, dsts, nil, &op, d); op.Dsts == nil {
		return ref{}
	}
	if len(refs) > 1 || len(dsts) > 1 || refs[0].cell != dst.cell {
		m.do(s, rank, d, op)
	}
	return dst
}

// operandsOf checks references and makes operands of them: those of the rank
// come first, plain data before packets, and then those of others, which go
// through memory.
func (m *machine) operandsOf(s *site, rank int32, refs, against []ref, op *ir.ChannelOp, d *done) []ir.ChannelRef {
	if !m.step(int64(len(refs))*int64(1+len(against)), &s.span) {
		return nil
	}
	list := make([]ir.ChannelRef, 0, len(refs))
	for i, r := range refs {
		if r.count != refs[0].count {
			m.counts(s, refs, i)
			return nil
		}
		for _, a := range against {
			if r.cell != a.cell && r.overlaps(a) {
				m.overlap(s, r, a)
				return nil
			}
		}
		list = append(list, m.operand(r, d))
		if r.rank == rank {
			continue
		}
		op.Type = ir.MemoryChannel
		if !m.prog.channels.Reaches(rank, r.rank) {
			d := m.fault(diag.Channel, s.span, "rank %d has no memory channel to rank %d, and %s is an operand", rank,
				r.rank, m.prog.refName(&r))
			d.Hint = "channel(rank, peer), before this, makes one"
			return nil
		}
		if x := &list[len(list)-1]; against != nil && x.Packets {
			m.afar(s)
			return nil
		}
	}
	class := func(x *ir.ChannelRef) int {
		switch {
		case x.Rank != rank:
			return 2
		case x.Packets:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b ir.ChannelRef) int { return class(&a) - class(&b) })
	return list
}

package lang

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file compiles what is done with chunks: chunk, copy and reduce.

// chunkCall compiles chunk(rank, buffer, index, count = 1).
func (c *compiler) chunkCall(args *Args, span diag.Span) code {
	bound := c.bind("chunk", args.List, []string{"rank", "buffer", "index", "count"}, func(i int) bool { return i < 3 }, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m := c.m
	p := &m.prog
	rank := c.number(bound[0], kInt, "the rank")
	buffer, _ := c.buffer(bound[1])
	index := c.number(bound[2], kInt, "the index")
	count := func() int64 { return 1 }
	if bound[3] != nil {
		count = c.number(bound[3], kInt, "the count")
	}
	return code{kind: kRef, val: func() value {
		r, b, i, n := rank(), buffer(), index(), count()
		if m.bad || !m.ready(span) {
			return badValue
		}
		if uint64(r) >= uint64(p.coll.Ranks) || i < 0 || n < 1 || n > int64(p.at(int32(r), b).chunks)-i {
			m.inRange(span, r, b, i, n)
			return badValue
		}
		return value{kind: kRef, ref: ref{int32(r), int32(i), int32(n), int32(p.ops.n), b}}
	}}
}

// buffer compiles an expression of kind buffer, mostly a constant: it says
// whether it is.
func (c *compiler) buffer(e *Expr) (buf func() ir.Buf, always bool) {
	x := c.expr(e)
	val := c.as(x, kBuffer, "the buffer", e.span())
	if x.lit && x.kind == kBuffer {
		b := val().buf
		return func() ir.Buf { return b }, true
	}
	return func() ir.Buf { return val().buf }, false
}

// ready says whether there are chunks yet: the lines at the top of the file
// that say how many cannot refer to them.
func (m *machine) ready(span diag.Span) bool {
	if m.prog.coll == nil {
		m.fault(diag.Declaration, span, "there are no chunks before the collective and the scratch buffers are known")
	}
	return m.prog.coll != nil
}

// method compiles c.copy(...) and c.reduce(...).
func (c *compiler) method(x code, f *Name, args *Args, of, span diag.Span) code {
	if f.Text == "copy" || f.Text == "reduce" {
		c.notInRequire(span)
	}
	switch {
	case x.kind == kBad:
		for _, a := range args.List {
			if a.Name == nil || indexOf(hintNames, a.Name.Text) < 0 {
				c.expr(a.Value)
			}
		}
		return x
	case f.Text == "copy":
		return c.copyCall(c.as(x, kRef, "what is copied", of), args, of, span)
	case f.Text == "reduce":
		return c.reduceOnto(c.as(x, kRef, "what is reduced", of), args, of, span)
	}
	c.as(x, kRef, "what has ."+f.Text, of)
	d := c.m.report(diag.Undefined, f.span(), "a reference has no operation %s", f.Text)
	if !suggest(d, f.Text, members) {
		d.Hint = "its operations are copy and reduce"
	}
	return c.badCode()
}

// notInRequire rejects operations where nothing runs yet.
func (c *compiler) notInRequire(span diag.Span) {
	if c.custom {
		c.m.report(diag.Declaration, span, "a custom collective says what must hold: it copies and reduces nothing")
	}
}

// newSite makes the site of an operation.
func (c *compiler) newSite(span, src, dst diag.Span) *site {
	p := &c.m.prog
	p.spans = append(p.spans, span)
	return &site{span: span, pos: int32(len(p.spans) - 1), src: src, dst: dst}
}

// copyCall compiles src.copy(rank, buffer, index).
func (c *compiler) copyCall(src func() value, args *Args, of, span diag.Span) code {
	list, hint := c.hints(args.List)
	bound := c.bind("copy", list, []string{"rank", "buffer", "index"}, func(i int) bool { return i < 1 }, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m := c.m
	s := c.newSite(span, of, args.span())
	to := c.expr(bound[0])
	buffer, index, known := c.placeOf(bound[1], bound[2])
	switch to.kind {
	case kList, kAny:
		ranks := to.val
		at := bound[0].span()
		return code{kind: copyKind(to.kind), val: func() value {
			v, r := src(), ranks()
			b, i := buffer(v.ref), index(v.ref)
			m.hinted(s, hint)
			return m.copyToAny(s, &v, &r, b, i, at)
		}}
	}
	rank := c.asNumber(to, kInt, "the rank", bound[0].span())
	own := bound[1] == nil || bound[2] == nil // where to is known only with what is copied
	return code{kind: kRef, val: func() value {
		v := src()
		failed := m.bad
		m.bad = false
		r, b, i := rank(), buffer(v.ref), index(v.ref)
		m.hinted(s, hint)
		if m.bad || failed && own || !m.ready(span) {
			m.bad = true
			if m.lost = m.lost || !known; known {
				m.lose(b)
			}
			return badValue
		}
		if failed {
			m.bad, v.ref = true, ref{count: 1}
		}
		return m.copyTo(s, v.ref, r, b, i)
	}}
}

func copyKind(to kind) kind {
	if to == kList {
		return kList
	}
	return kAny
}

// placeOf compiles the buffer and the index of a destination, which default to
// the reference's own, and says whether the buffer is always the same.
func (c *compiler) placeOf(buffer, index *Expr) (func(ref) ir.Buf, func(ref) int64, bool) {
	b, i := func(r ref) ir.Buf { return r.buf }, func(r ref) int64 { return int64(r.index) }
	known := false
	if buffer != nil {
		buf, always := c.buffer(buffer)
		known = always
		b = func(ref) ir.Buf { return buf() }
	}
	if index != nil {
		num := c.number(index, kInt, "the index")
		i = func(ref) int64 { return num() }
	}
	return b, i, known
}

// copyToAny copies to one rank or to each of a list.
func (m *machine) copyToAny(s *site, v, to *value, b ir.Buf, index int64, span diag.Span) value {
	if m.bad || !m.ready(s.span) {
		m.lost = true
		return badValue
	}
	if to.kind == kInt {
		return m.copyTo(s, v.ref, to.n, b, index)
	}
	if to.kind != kList {
		m.wrongKind(to.kind, kInt, "the rank", span)
		m.lost = true
		return badValue
	}
	list := make([]value, 0, len(*to.list))
	failed := false
	for i := range *to.list {
		r := &(*to.list)[i]
		if r.kind != kInt {
			m.wrongKind(r.kind, kInt, "a rank", span)
			m.lost = true
		} else {
			list = append(list, m.copyTo(s, v.ref, r.n, b, index))
		}
		failed = failed || m.bad
		m.bad = false
	}
	m.bad = failed
	m.elements(len(list), len(list), s.span)
	return value{kind: kList, list: &list}
}

// reduceOnto compiles c.reduce(other, ...).
func (c *compiler) reduceOnto(on func() value, args *Args, of, span diag.Span) code {
	list, hint := c.hints(args.List)
	if len(list) == 0 {
		c.m.report(diag.Arguments, span, "reduce lacks what is reduced into the chunk")
		return c.badCode()
	}
	m := c.m
	s := c.newSite(span, args.span(), of)
	others := c.operandList(list, "reduce")
	if others == nil {
		return c.badCode()
	}
	var operands []value
	return code{kind: kRef, val: func() value {
		v := on()
		if m.bad || !m.ready(span) {
			m.lost = true
			return badValue
		}
		m.hinted(s, hint)
		operands = append(operands[:0], v)
		operands = others(operands)
		return m.reduceTo(s, operands, int64(v.rank), v.buf, int64(v.index))
	}}
}

// reduceCall compiles reduce(list, rank, buffer, index).
func (c *compiler) reduceCall(args *Args, span diag.Span) code {
	c.notInRequire(span)
	list, hint := c.hints(args.List)
	bound := c.bind("reduce", list, []string{"list", "rank", "buffer", "index"}, all, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m := c.m
	s := c.newSite(span, bound[0].span(), args.span())
	from := c.of(bound[0], kList, "what is reduced")
	rank := c.number(bound[1], kInt, "the rank")
	buffer, _ := c.buffer(bound[2])
	index := c.number(bound[3], kInt, "the index")
	var operands []value
	return code{kind: kRef, val: func() value {
		v := from()
		r, b, i := rank(), buffer(), index()
		m.hinted(s, hint)
		if m.bad || !m.ready(span) {
			m.lost = true
			return badValue
		}
		operands = m.flatten(operands[:0], &v, s.src, 0)
		if len(operands) == 0 {
			m.fault(diag.Arguments, s.src, "reduce of an empty list: there is nothing to write")
			m.lost = true
			return badValue
		}
		return m.reduceTo(s, operands, r, b, i)
	}}
}

// operandList compiles the operands of a reduce: references and lists of them.
func (c *compiler) operandList(args []*Arg, what string) func(list []value) []value {
	m := c.m
	vals := make([]func() value, len(args))
	spans := make([]diag.Span, len(args))
	for i, a := range args {
		if a.Name != nil {
			c.m.report(diag.Arguments, a.Name.span(), "%s has no argument called %s", what, a.Name.Text)
			return nil
		}
		x := c.valueOf(a.Value)
		if k := x.kind; k != kRef && k != kList && k != kAny && k != kBad {
			c.mismatch(k, kRef, "what is reduced", a.span())
			x = c.badCode()
		}
		vals[i], spans[i] = x.value(), a.span()
	}
	return func(list []value) []value {
		for i, val := range vals {
			v := val()
			if v.kind == kRef {
				list = append(list, v)
			} else if !m.bad {
				list = m.flatten(list, &v, spans[i], 0)
			}
		}
		return list
	}
}

// flatten adds the references in v, depth lists deep, to list.
func (m *machine) flatten(list []value, v *value, span diag.Span, depth int) []value {
	switch v.kind {
	case kRef:
		return append(list, *v)
	case kList:
		for i := range *v.list {
			if m.bad || !m.step(1, &span) {
				break
			}
			if depth > m.lim.Nesting {
				m.exhausted("nesting", int64(m.lim.Nesting), &span, "lists are nested more than %d deep")
				break
			}
			list = m.flatten(list, &(*v.list)[i], span, depth+1)
		}
	default:
		m.wrongKind(v.kind, kRef, "what is reduced", span)
	}
	return list
}

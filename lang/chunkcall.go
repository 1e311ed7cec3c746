package lang

import (
	"maps"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file compiles chunk and copy, and says which operation a call after a dot is.

// chunkCall compiles chunk(rank, buffer, index, count = 1).
func (c *compiler) chunkCall(args *syntax.Args, span diag.Span) code {
	bound := c.bind("chunk", args.List, []string{"rank", "buffer", "index", "count"},
		func(i int) bool { return i < 3 }, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m := c.m
	p := &m.prog
	rank := c.number(bound[0], kInt, "the rank")
	buffer := c.number(bound[1], kBuffer, "the buffer")
	index := c.number(bound[2], kInt, "the index")
	count := constant(1)
	if bound[3] != nil {
		count = c.number(bound[3], kInt, "the count")
	}
	return code{kind: kRef, ref: func() ref {
		r, b, i, n := rank.get(), ir.Buf(buffer.get()), index.get(), count.get()
		if m.bad || !m.ready(&span) {
			return ref{}
		}
		if uint64(r) < uint64(p.coll.Ranks) {
			if at := p.at(int32(r), b); i >= 0 && n >= 0 && n <= int64(at.chunks)-i {
				made := ref{spot{at.cell + int32(i), int32(r), int32(i)}, int32(n), p.now(), holds{buf: b}}
				if n == 0 {
					made.time = emptyTime
					return made
				}
				if m.looking {
					m.sawChunk(span, made)
				}
				return made
			}
		}
		m.inRange(span, r, b, i, n)
		return ref{}
	}}
}

// method compiles c.copy(...), c.reduce(...) and c.then(...).
func (c *compiler) method(x code, f *syntax.Name, args *syntax.Args, of, span diag.Span) code {
	if f.Text == "copy" || f.Text == "reduce" || f.Text == "then" {
		c.notInRequire(span)
	}
	blockOp, done := blockOpOf(f.Text)
	switch {
	case isChannelOp(x, f):
		return c.channelMethod(x, f, args, of, span)
	case x.kind == kBad:
		for _, a := range args.List {
			if a.Name == nil || !slices.Contains(hintNames, a.Name.Text) {
				c.expr(a.Value)
			}
		}
		return x
	case blockOp != nil && namesBlock(args):
		return blockOp(c, c.asRef(x, "what is "+done, of), f, args, of, span)
	case f.Text == "copy":
		return c.copyCall(c.asRef(x, "what is copied", of), args, of, span)
	case f.Text == "reduce":
		return c.reduceOnto(c.asRef(x, "what is reduced", of), x.word, args, of, span)
	case f.Text == "then":
		return c.thenCall(c.asRef(x, "what is finished", of), args, of, span)
	}
	if x.kind == kList || x.kind == kAny {
		if near := diag.Nearest(f.Text, listOps()); near != "" {
			d := c.m.report(diag.Undefined, f.Span(), "there is no operation %s", f.Text)
			*d = d.WithHint("did you mean %s?", near).WithFix(f.Text, near)
			return c.badCode()
		}
	}
	if hint := syntax.ForeignNames[f.Text]; x.kind == kList && hint != "" {
		c.m.report(diag.Undefined, f.Span(), "there is no operation %s", f.Text).Hint = hint
		return c.badCode()
	}
	c.as(x, kRef, "what has ."+f.Text, of)
	d := c.m.report(diag.Undefined, f.Span(), "a reference has no operation %s", f.Text)
	if hint := syntax.ForeignNames[f.Text]; hint != "" {
		d.Hint = hint
	} else if !suggest(d, f.Text, members) {
		d.Hint = "its operations are copy, reduce and then"
	}
	return c.badCode()
}

// listOps lists the operations that may be done with a list, or with what is known only when it runs.
func listOps() []string { return slices.Sorted(maps.Keys(channelOps)) }

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
func (c *compiler) copyCall(src func() ref, args *syntax.Args, of, span diag.Span) code {
	list, hint := c.hints(args.List)
	bound := c.bind("copy", list, []string{"rank", "buffer", "index"}, func(i int) bool { return i < 1 }, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m := c.m
	s := c.newSite(span, of, args.Span())
	to := c.expr(bound[0])
	place := c.placeOf(bound[1], bound[2])
	switch to.kind {
	case kList, kAny:
		ranks := to.val
		at := bound[0].Span()
		return code{kind: copyKind(to.kind), val: func() value {
			v, r := src(), ranks()
			b, i := place.of(v)
			m.hinted(s, hint)
			return m.copyToAny(s, v, &r, b, i, at)
		}}
	}
	rank := c.asNumber(to, kInt, "the rank", bound[0].Span())
	return code{kind: kRef, ref: func() ref {
		v := src()
		failed := m.bad
		m.bad = false
		r := rank.get()
		b, i := place.of(v)
		m.hinted(s, hint)
		if m.bad || failed && (place.ownBuffer || place.ownIndex) || !m.ready(&s.span) {
			m.bad = true
			if m.lost = m.lost || !place.known; place.known {
				m.lose(b)
			}
			return ref{}
		}
		if failed {
			m.bad, v = true, ref{count: 1}
		}
		return m.copyTo(s, v, r, b, i)
	}}
}

func copyKind(to kind) kind {
	if to == kList {
		return kList
	}
	return kAny
}

// A destination is the buffer and the index of a copy, which default to those
// of what is copied.
type destination struct {
	buffer, index       number
	ownBuffer, ownIndex bool // the defaults
	known               bool // the buffer is always the same
}

// placeOf compiles a destination.
func (c *compiler) placeOf(buffer, index *syntax.Expr) *destination {
	d := &destination{ownBuffer: buffer == nil, ownIndex: index == nil}
	if buffer != nil {
		x := c.expr(buffer)
		d.buffer, d.known = c.asNumber(x, kBuffer, "the buffer", buffer.Span()), x.lit && x.kind == kBuffer
	}
	if index != nil {
		d.index = c.number(index, kInt, "the index")
	}
	return d
}

// of computes the destination of r.
func (d *destination) of(r ref) (b ir.Buf, index int64) {
	b, index = r.buf, int64(r.index)
	if !d.ownBuffer {
		b = ir.Buf(d.buffer.get())
	}
	if !d.ownIndex {
		index = d.index.get()
	}
	return b, index
}

// copyToAny copies to one rank or to each of a list.
func (m *machine) copyToAny(s *site, v ref, to *value, b ir.Buf, index int64, span diag.Span) value {
	if m.bad || !m.ready(&s.span) {
		m.lost = true
		return badValue
	}
	if to.kind == kInt {
		return m.copyTo(s, v, to.n, b, index).value()
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
			list = append(list, m.copyTo(s, v, r.n, b, index).value())
		}
		failed = failed || m.bad
		m.bad = false
	}
	m.bad = failed
	m.elements(len(list), len(list), s.span)
	return value{kind: kList, list: &list}
}

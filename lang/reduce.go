package lang

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file compiles reductions that the compiler places.

// reduceOnto compiles c.reduce(other, ...), where word is c if that is a variable, and "" otherwise.
func (c *compiler) reduceOnto(on func() ref, word string, args *syntax.Args, of, span diag.Span) code {
	list, hint := c.hints(args.List)
	if len(list) == 0 {
		c.m.report(diag.Arguments, span, "reduce lacks what is reduced into the chunk")
		return c.badCode()
	}
	m := c.m
	s := c.newSite(span, args.Span(), of)
	others := c.operandList(list, "reduce")
	if others == nil {
		return c.badCode()
	}
	s.words = append(s.words, word)
	for i := range others {
		s.words = append(s.words, others[i].word)
	}
	return code{kind: kRef, ref: func() ref {
		v := on()
		if m.bad || !m.ready(&s.span) {
			m.lost = true
			return ref{}
		}
		m.hinted(s, hint)
		s.operands = append(s.operands[:0], v)
		for i := range others {
			s.operands = others[i].add(m, s.operands)
		}
		return m.reduceTo(s, s.operands, int64(v.rank), v.buf, int64(v.index))
	}}
}

// reduceCall compiles reduce(list, rank, buffer, index).
func (c *compiler) reduceCall(args *syntax.Args, span diag.Span) code {
	c.notInRequire(span)
	if namesBlock(args) {
		return c.blockReduceCall(args, span)
	}
	list, hint := c.hints(args.List)
	bound := c.bind("reduce", list, []string{"list", "rank", "buffer", "index"}, all, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m := c.m
	s := c.newSite(span, bound[0].Span(), args.Span())
	from := c.of(bound[0], kList, "what is reduced")
	rank := c.number(bound[1], kInt, "the rank")
	buffer := c.number(bound[2], kBuffer, "the buffer")
	index := c.number(bound[3], kInt, "the index")
	return code{kind: kRef, ref: func() ref {
		v := from()
		r, b, i := rank.get(), ir.Buf(buffer.get()), index.get()
		m.hinted(s, hint)
		if m.bad || !m.ready(&s.span) {
			m.lost = true
			return ref{}
		}
		s.operands = m.flatten(s.operands[:0], &v, s.src, 0)
		if len(s.operands) == 0 {
			m.fault(diag.Arguments, s.src, "reduce of an empty list: there is nothing to write")
			m.lost = true
			return ref{}
		}
		return m.reduceTo(s, s.operands, r, b, i)
	}}
}

// An operand of a reduce is a reference, or a value that may also be a list of
// references.
type operand struct {
	ref  func() ref // or nil
	val  func() value
	word string // the variable that it is in the source, or ""
	span diag.Span
}

// add adds the references of o to list.
func (o *operand) add(m *machine, list []ref) []ref {
	if o.ref == nil {
		v := o.val()
		if v.kind == kRef || !m.bad {
			list = m.flatten(list, &v, o.span, 0)
		}
		return list
	}
	r := o.ref()
	if r.count == 0 && !r.empty() {
		return list
	}
	return append(list, r)
}

// operandList compiles the operands of a reduce, or returns nil.
func (c *compiler) operandList(args []*syntax.Arg, what string) []operand {
	list := make([]operand, len(args))
	for i, a := range args {
		if a.Name != nil {
			d := c.m.report(diag.Arguments, a.Name.Span(), "%s has no argument called %s", what, a.Name.Text)
			d.Hint = besideTB(what, a.Name.Text)
			return nil
		}
		x := c.valueOf(a.Value)
		if k := x.kind; k != kRef && k != kList && k != kAny && k != kBad {
			c.mismatch(k, kRef, "what is reduced", a.Span())
			x = c.badCode()
		}
		list[i] = operand{ref: x.ref, val: x.value(), word: x.word, span: a.Span()}
	}
	return list
}

// flatten adds the references in v, depth lists deep, to list.
func (m *machine) flatten(list []ref, v *value, span diag.Span, depth int) []ref {
	switch v.kind {
	case kRef:
		return append(list, v.ref)
	case kList:
		for i := range *v.list {
			if m.bad || !m.step(1, &span) {
				break
			}
			if depth > m.lim.Nesting {
				m.exhausted("nesting", int64(m.lim.Nesting), syntax.MoreHint("nesting", int64(m.lim.Nesting)), &span,
					"lists are nested more than %d deep")
				break
			}
			list = m.flatten(list, &(*v.list)[i], span, depth+1)
		}
	default:
		m.wrongKind(v.kind, kRef, "what is reduced", span)
	}
	return list
}

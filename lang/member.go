package lang

import (
	"mscclc/ir/diag"
)

// This file compiles members and parts: c.rank, c[i], c[i..j], l[i].

var members = []string{"rank", "buffer", "index", "count", "copy", "reduce"}

// member compiles c.rank, c.buffer, c.index and c.count.
func (c *compiler) member(x code, f *Name, span diag.Span) code {
	if x.kind == kBad {
		return x
	}
	get := map[string]func(v *value) value{
		"rank":   func(v *value) value { return intValue(int64(v.rank)) },
		"index":  func(v *value) value { return intValue(int64(v.index)) },
		"count":  func(v *value) value { return intValue(int64(v.count)) },
		"buffer": func(v *value) value { return value{kind: kBuffer, ref: ref{buf: v.buf}} },
	}[f.Text]
	if get == nil {
		d := c.m.report(diag.Undefined, f.span(), "a reference has no member %s", f.Text)
		if f.Text == "copy" || f.Text == "reduce" {
			d.Text, d.Hint = "."+f.Text+" without arguments", "call it: c."+f.Text+"(...)"
		} else if !suggest(d, f.Text, members) {
			d.Hint = "its members are rank, buffer, index and count"
		}
		return c.badCode()
	}
	of := c.as(x, kRef, "what has a "+f.Text, span)
	if f.Text == "buffer" {
		return code{kind: kBuffer, val: func() value { v := of(); return get(&v) }}
	}
	return code{kind: kInt, num: func() int64 { v := of(); return get(&v).n }}
}

// index compiles x[i] and x[i..j] of references and lists.
func (c *compiler) index(x code, s *Suffix, of diag.Span) code {
	from := c.number(s.Index, kInt, "the index")
	to := func() int64 { return 0 }
	single := s.End == nil
	if !single {
		to = c.number(s.End, kInt, "the end of the part")
	}
	k := x.kind
	switch {
	case x.kind == kBad:
		return x
	case x.kind == kList && single:
		k = kAny
	case x.kind != kList && x.kind != kRef && x.kind != kAny:
		c.m.report(diag.Kind, of, "parts are of references and of lists, not of %s", x.kind)
		return c.badCode()
	}
	m, val, span := c.m, x.val, s.span()
	return code{kind: k, val: func() value {
		v := val()
		i := from()
		j := i + 1
		if !single {
			j = to()
		}
		if m.bad {
			return badValue
		}
		return m.part(v, i, j, single, span)
	}}
}

// part returns elements i to j of a list or chunks i to j of a reference, which
// are as old as the whole.
func (m *machine) part(v value, i, j int64, single bool, span diag.Span) value {
	n := int64(v.count)
	switch v.kind {
	case kRef:
	case kList:
		n = int64(len(*v.list))
	default:
		m.fault(diag.Kind, span, "parts are of references and of lists, not of %s", v.kind)
		return badValue
	}
	what := "reference"
	if v.kind == kList {
		what = "list"
	}
	switch {
	case single && (i < 0 || i >= n):
		m.fault(diag.OutOfBounds, span, "[%d] of a %s of %d does not exist", i, what, n)
		return badValue
	case i < 0 || j > n || i > j || i == j && v.kind == kRef:
		m.fault(diag.OutOfBounds, span, "[%d..%d] of a %s of %d does not exist", i, j, what, n)
		return badValue
	case v.kind == kRef:
		v.index += int32(i)
		v.count = int32(j - i)
	case single:
		v = (*v.list)[i]
		m.bad = m.bad || v.kind == kBad
	default:
		part := (*v.list)[i:j:j]
		v.list = &part
	}
	return v
}

package lang

import (
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file compiles members and parts: c.rank, c[i], c[i..j], l[i].

var members = []string{"rank", "buffer", "index", "count", "copy", "reduce", "then"}

// member compiles c.rank, c.buffer, c.index and c.count.
func (c *compiler) member(x code, f *syntax.Name, span diag.Span) code {
	if x.kind == kBad {
		return x
	}
	get := map[string]func(r ref) int64{
		"rank":   func(r ref) int64 { return int64(r.rank) },
		"index":  func(r ref) int64 { return int64(r.index) },
		"count":  func(r ref) int64 { return int64(r.count) },
		"buffer": func(r ref) int64 { return int64(r.buf) },
	}[f.Text]
	if get == nil {
		d := c.m.report(diag.Undefined, f.Span(), "a reference has no member %s", f.Text)
		if f.Text == "copy" || f.Text == "reduce" {
			d.Text, d.Hint = "."+f.Text+" without arguments", "call it: c."+f.Text+"(...)"
		} else if !suggest(d, f.Text, members) {
			d.Hint = "its members are rank, buffer, index and count"
		}
		return c.badCode()
	}
	of, k := c.asRef(x, "what has a "+f.Text, span), kInt
	if f.Text == "buffer" {
		k = kBuffer
	}
	return code{kind: k, num: number{run: func() int64 { return get(of()) }}}
}

// index compiles x[i] and x[i..j] of references and lists.
func (c *compiler) index(x code, s *syntax.Suffix, of diag.Span) code {
	p := &section{m: c.m, from: c.number(s.Index, kInt, "the index"), single: s.End == nil, span: s.Span()}
	if !p.single {
		p.to = c.number(s.End, kInt, "the end of the part")
	}
	switch {
	case x.kind == kBad:
		return x
	case x.kind == kRef:
		return code{kind: kRef, ref: func() ref { return p.ofRef(x.ref()) }}
	case x.kind == kList && p.single:
		return code{kind: kAny, val: func() value { return p.of(x.val()) }}
	case x.kind == kList || x.kind == kAny:
		return code{kind: x.kind, val: func() value { return p.of(x.val()) }}
	}
	c.m.report(diag.Kind, of, "parts are of references and of lists, not of %s", x.kind)
	return c.badCode()
}

// A section is one [i] or [i..j] of the source.
type section struct {
	m        *machine
	from, to number
	single   bool // [i]
	span     diag.Span
}

// ends computes where the part begins and ends.
func (s *section) ends() (i, j int64) {
	i = s.from.get()
	if s.single {
		return i, i + 1
	}
	return i, s.to.get()
}

// exists checks that a list or a reference of n has the part from i to j, of
// at least that many.
func (s *section) exists(what string, i, j, n, least int64) bool {
	switch {
	case s.m.bad:
	case s.single && (i < 0 || i >= n):
		s.m.fault(diag.OutOfBounds, s.span, "[%d] of a %s of %d does not exist", i, what, n)
	case i < 0 || j > n || i > j || j-i < least:
		s.m.fault(diag.OutOfBounds, s.span, "[%d..%d] of a %s of %d does not exist", i, j, what, n)
	default:
		return true
	}
	return false
}

// of returns the part of a list or a reference.
func (s *section) of(v value) value {
	m := s.m
	if v.kind == kRef {
		return s.ofRef(v.ref).value()
	}
	i, j := s.ends()
	if v.kind != kList {
		m.fault(diag.Kind, s.span, "parts are of references and of lists, not of %s", v.kind)
		return badValue
	}
	if !s.exists("list", i, j, int64(len(*v.list)), 0) {
		return badValue
	}
	if s.single {
		x := (*v.list)[i]
		m.bad = x.kind == kBad
		return x
	}
	part := (*v.list)[i:j:j]
	return value{kind: kList, list: &part}
}

// ofRef returns the part of a reference, which is as old as the whole.
func (s *section) ofRef(r ref) ref {
	i, j := s.ends()
	if !s.exists("reference", i, j, int64(r.count), 0) {
		return ref{}
	}
	r.cell, r.index, r.count = r.cell+int32(i), r.index+int32(i), int32(j-i)
	if i == j {
		r.time = emptyTime
	}
	return r
}

package lang

import (
	"regexp"
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file compiles the block of a custom collective.

// sum compiles sum(list) of a require.
func (c *compiler) sum(args *syntax.Args, span diag.Span) code {
	bound := c.bind("sum", args.List, []string{"list"}, all, span, nil)
	if bound == nil {
		return c.badCode()
	}
	list := c.of(bound[0], kList, "the argument of sum")
	return code{kind: kSum, val: func() value {
		v := list()
		v.kind = kSum
		return v
	}}
}

// whatIsRequired is how messages call the right side of a require.
const whatIsRequired = "what is required"

// require compiles require PART == E.
func (c *compiler) require(s *syntax.Require) exec {
	if !c.custom {
		d := c.m.report(diag.Declaration, s.Span(), "require outside of the block of a custom collective")
		d.Hint = outsideHint(s.Cond.Source())
		return nil
	}
	at := slices.IndexFunc(s.Cond.Rest, func(b *syntax.Binary) bool { return b.Op == "==" })
	if at < 0 {
		d := c.m.report(diag.Syntax, s.Cond.Span(), "require needs PART == E")
		d.Hint = "require chunk(r, output, 0) == chunk(q, input, 0)"
		return nil
	}
	b := s.Cond.Rest[at]
	left := &syntax.Expr{Node: s.Cond.Left.Node, Left: s.Cond.Left, Rest: s.Cond.Rest[:at]}
	right := &syntax.Expr{Node: b.Right.Node, Left: b.Right, Rest: s.Cond.Rest[at+1:]}
	what := c.asRef(c.expr(left), "what is required of", left.Span())
	m, lspan, rspan, span := c.m, left.Span(), right.Span(), s.Span()
	x := c.required(right)
	if x.kind != kBad && x.kind != kRef && x.kind != kSum && x.kind != kAny {
		x = code{kind: kBad, val: c.mismatch(x.kind, kRef, whatIsRequired, rspan)}
	}
	holds := x.value()
	return func() flow {
		l, r := what(), holds()
		if m.bad {
			m.lost = true
			return goOn
		}
		if l.buf != ir.Output {
			m.fault(diag.Declaration, lspan, "require is about output, not %s", m.prog.bufName(l.buf))
			return goOn
		}
		if r.kind == kSum {
			r.kind = kList
		} else if r.kind == kList {
			m.wrongKind(kList, kRef, whatIsRequired, rspan)
		}
		parts := m.flatten(nil, &r, rspan, 0)
		m.mustHold(&l, parts, lspan, rspan, span)
		return goOn
	}
}

// reductionCall finds a call that names a reduction.
var reductionCall = regexp.MustCompile(`\b(sum|` + strings.Join(reductions, "|") + `)\s*\(`)

// outsideHint says what stands for a require of some text outside of the block of a custom collective.
func outsideHint(text string) string {
	switch {
	case !strings.Contains(text, "chunk"):
		return `assert(` + diag.Shorten(diag.Printable(text)) + `, "text") checks what is known when the file is compiled`
	case reductionCall.MatchString(text):
		return "leave it out: a collective such as allreduce says itself what each output holds, and --op which reduction a " +
			"call makes; a custom collective has a block of requires, where " + reductionHint
	}
	return "collective custom(ranks, input = n, output = n) { require chunk(r, output, 0) == chunk(q, input, 0) }"
}

// required compiles the right side of a require: a value whose kind is kBad where an error in it was reported.
func (c *compiler) required(e *syntax.Expr) code {
	if f, ok := e.Left.X.(*syntax.Name); ok && len(e.Rest) == 0 && len(e.Left.Suffixes) == 1 &&
		e.Left.Suffixes[0].Args != nil && slices.Contains(reductions, f.Text) {
		if n := c.scope.lookup(f.Text); n == nil || n.sort == aBuiltin {
			c.m.report(diag.Kind, f.Span(), "%s is not what a part can hold", f.Text).Hint = reductionHint
			return c.badCode()
		}
	}
	before := len(c.m.errs)
	x := c.valueOf(e)
	if len(c.m.errs) > before {
		return c.badCode()
	}
	return x
}

// reductions are the words by which people name a reduction in a require, beside sum.
var reductions = []string{"max", "min", "prod", "product", "avg", "mean", "reduce", "add"}

// mustHold notes that each chunk of l must hold the sum of those of parts.
func (m *machine) mustHold(l *ref, parts []ref, lspan, rspan, span diag.Span) {
	if len(parts) == 0 {
		m.fault(diag.Arguments, rspan, "sum of an empty list")
	}
	for i := range parts {
		switch p := &parts[i]; {
		case p.buf != ir.Input:
			m.fault(diag.Declaration, rspan, "what is required must be of initial input, not of %s", m.prog.bufName(p.buf))
		case p.count != l.count:
			m.fault(diag.Counts, rspan, "operands have different counts: %s is %s, and %s is %s", m.prog.refName(l),
				chunks(int64(l.count)), m.prog.refName(p), chunks(int64(p.count)))
		}
	}
	if m.bad || !m.step(int64(l.count)*int64(1+len(parts))*elementCost, &span) {
		return
	}
	for k := range l.count {
		out := ir.Part{Rank: l.rank, Index: l.index + k}
		if first, twice := m.required[out]; twice {
			d := m.fault(diag.Declaration, lspan, "output[%d] of rank %d is required twice", out.Index, out.Rank)
			*d = d.WithNote(first, "it was required here first")
			return
		}
		list := make([]ir.Part, len(parts))
		for i := range parts {
			list[i] = ir.Part{Rank: parts[i].rank, Index: parts[i].index + k}
		}
		slices.SortFunc(list, comparePart)
		m.required[out] = lspan
		m.prog.coll.Require[out] = list
	}
}

func comparePart(a, b ir.Part) int {
	if a.Rank != b.Rank {
		return int(a.Rank) - int(b.Rank)
	}
	return int(a.Index) - int(b.Index)
}

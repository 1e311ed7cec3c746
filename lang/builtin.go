package lang

import (
	"fmt"
	"math/bits"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/arithmetic"
	"mscclc/lang/syntax"
)

// This file has the functions of the language that are not about chunks.

// universe returns the scope around every file.
func universe() *scope {
	s := newScope(channelWords())
	for text, call := range map[string]builtin{
		"chunk": (*compiler).chunkCall, "reduce": (*compiler).reduceCall, "assert": (*compiler).assertCall,
		"min": leastCall("min", func(a, b int64) bool { return a < b }),
		"max": leastCall("max", func(a, b int64) bool { return a > b }),
		"abs": numberCall("abs", absolute), "log2": numberCall("log2", log2), "len": (*compiler).lenCall,
	} {
		s.names[text] = &name{text: text, sort: aBuiltin, call: call}
	}
	for text, b := range map[string]ir.Buf{"input": ir.Input, "output": ir.Output} {
		s.names[text] = &name{text: text, sort: aConstant, kind: kBuffer, slot: &value{kind: kBuffer, n: int64(b)}}
	}
	return s
}

func all(int) bool { return true }

// numberCall compiles a function of one integer.
func numberCall(what string, run func(int64) (int64, string)) builtin {
	return func(c *compiler, args *syntax.Args, span diag.Span) code {
		bound := c.bind(what, args.List, []string{"n"}, all, span, nil)
		if bound == nil {
			return c.badCode()
		}
		m, x := c.m, c.expr(bound[0])
		n := c.asNumber(x, kInt, "the argument of "+what, bound[0].Span())
		return c.folded(kInt, func() int64 {
			v, fault := run(n.get())
			if fault != "" {
				m.fault(diag.Arithmetic, span, "%s", fault)
			}
			return v
		}, x.lit)
	}
}

func absolute(n int64) (int64, string) {
	if n < 0 {
		return arithmetic.Negate(n)
	}
	return n, ""
}

func log2(n int64) (int64, string) {
	if n <= 0 || n&(n-1) != 0 {
		return 0, fmt.Sprintf("log2 of %d, which is no power of two", n)
	}
	return int64(bits.TrailingZeros64(uint64(n))), ""
}

// leastCall compiles min and max, of integers or of one list.
func leastCall(what string, better func(a, b int64) bool) builtin {
	return func(c *compiler, args *syntax.Args, span diag.Span) code {
		m := c.m
		params := make([]string, len(args.List))
		bound := c.bind(what, args.List, params, all, span, nil)
		if len(args.List) == 0 {
			m.report(diag.Arguments, span, "%s lacks arguments", what)
		}
		if len(bound) == 0 {
			return c.badCode()
		}
		first := c.expr(bound[0])
		if len(bound) == 1 && first.kind != kInt {
			return c.leastOf(what, c.as(first, kList, "the only argument of "+what, bound[0].Span()), span, better)
		}
		lit := first.lit
		nums := []number{c.asNumber(first, kInt, "an argument of "+what, bound[0].Span())}
		for _, e := range bound[1:] {
			x := c.expr(e)
			lit = lit && x.lit
			nums = append(nums, c.asNumber(x, kInt, "an argument of "+what, e.Span()))
		}
		return c.folded(kInt, func() int64 {
			best := nums[0].get()
			for _, x := range nums[1:] {
				if n := x.get(); better(n, best) {
					best = n
				}
			}
			return best
		}, lit)
	}
}

func (c *compiler) leastOf(what string, list func() value, span diag.Span, better func(a, b int64) bool) code {
	m := c.m
	return code{kind: kInt, num: number{run: func() int64 {
		v := list()
		if m.bad {
			return 0
		}
		if len(*v.list) == 0 {
			m.fault(diag.Arguments, span, "%s of an empty list", what)
			return 0
		}
		best := (*v.list)[0].n
		for i := range *v.list {
			x := &(*v.list)[i]
			if x.kind != kInt {
				m.wrongKind(x.kind, kInt, "an element", span)
				return 0
			}
			if better(x.n, best) {
				best = x.n
			}
		}
		return best
	}}}
}

func (c *compiler) lenCall(args *syntax.Args, span diag.Span) code {
	bound := c.bind("len", args.List, []string{"list"}, all, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m, list := c.m, c.of(bound[0], kList, "the argument of len")
	return code{kind: kInt, num: number{run: func() int64 {
		v := list()
		if m.bad {
			return 0
		}
		return int64(len(*v.list))
	}}}
}

// assertCall compiles assert(cond, "text"). Where it fails, the file is not
// for these parameters and nothing else is looked at.
func (c *compiler) assertCall(args *syntax.Args, span diag.Span) code {
	bound := c.bind("assert", args.List, []string{"cond", "text"}, all, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m, cond := c.m, c.number(bound[0], kBool, "what assert checks")
	text := c.of(bound[1], kString, "the text of assert")
	return code{kind: kNone, val: func() value {
		if yes := cond.get(); yes == 0 && !m.bad {
			if t := text(); !m.bad {
				m.stop(diag.AssertFailed, span, "%s", m.strings[t.n])
			}
		}
		return value{}
	}}
}

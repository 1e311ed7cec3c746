package lang

import (
	"slices"
	"strings"

	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file compiles calls of functions and of builtins.

// A builtin compiles a call of itself.
type builtin func(c *compiler, args *syntax.Args, span diag.Span) code

// suffixed compiles an operand with its calls, members and parts.
func (c *compiler) suffixed(u *syntax.Unary) code {
	i := 0
	var x code
	if f, ok := u.X.(*syntax.Name); ok && len(u.Suffixes) > 0 && u.Suffixes[0].Args != nil {
		x = c.call(f, u.Suffixes[0].Args, u.SpanTo(1))
		if i = 1; len(u.Suffixes) > 1 { // the whole is observed by who asks for it
			x = c.observed(x, u.SpanTo(1))
		}
	} else {
		x = c.primary(u.X)
	}
	for ; i < len(u.Suffixes); i++ {
		s := u.Suffixes[i]
		whole := u.SpanTo(i + 1)
		switch {
		case s.Args != nil:
			c.m.report(diag.Kind, s.Span(), "only functions can be called, and copy, reduce and then of a reference")
			x = c.badCode()
		case s.Index != nil:
			x = c.index(x, s, u.SpanTo(i))
		case i+1 < len(u.Suffixes) && u.Suffixes[i+1].Args != nil:
			x = c.method(x, s.Field, u.Suffixes[i+1].Args, u.SpanTo(i), u.SpanTo(i+2))
			i++
		default:
			x = c.member(x, s.Field, whole)
		}
	}
	return x
}

// call compiles f(args).
func (c *compiler) call(f *syntax.Name, args *syntax.Args, span diag.Span) code {
	if f.Text == "sum" && c.custom {
		return c.sum(args, span)
	}
	n := c.resolve(f, toCall)
	switch {
	case n == nil:
		for _, a := range args.List {
			c.expr(a.Value)
		}
		return c.badCode()
	case n.sort == aBuiltin:
		return n.call(c, args, span)
	case n.sort == aFunction:
		return c.callFunction(n.def, args, span)
	}
	d := c.m.report(diag.Kind, f.Span(), "%s is no function", n.text)
	if n.span.Line > 0 {
		*d = d.WithNote(n.span, "%s is declared here", n.text)
	}
	return c.badCode()
}

// bind brings arguments into the order of params, of which the first required
// must be given. Where they do not fit it reports that and returns nil.
func (c *compiler) bind(what string, list []*syntax.Arg, params []string, required func(i int) bool, span diag.Span,
	decl *diag.Span) []*syntax.Expr {
	bound := make([]*syntax.Expr, len(params))
	ok := true
	fail := func(at diag.Span, format string, args ...any) *diag.Diagnostic {
		d := c.m.report(diag.Arguments, at, format, args...)
		if decl != nil {
			*d = d.WithNote(*decl, "%s is declared here", what)
		}
		ok = false
		return d
	}
	for i, a := range list {
		at := i
		if a.Name != nil {
			if at = slices.Index(params, a.Name.Text); at < 0 {
				d := fail(a.Name.Span(), "%s has no argument called %s", what, a.Name.Text)
				if hint := besideTB(what, a.Name.Text); hint != "" {
					d.Hint = hint
				} else if !suggest(d, a.Name.Text, params) && len(params) > 0 {
					d.Hint = argumentsHint(params, required)
				}
				continue
			}
		} else if i > 0 && list[i-1].Name != nil {
			fail(a.Span(), "an argument without a name follows one with a name")
			continue
		} else if at >= len(params) {
			fail(a.Span(), "%s takes %s, and this is number %d", what, diag.Counted(len(params), "argument"), i+1)
			break
		}
		if bound[at] != nil {
			fail(a.Span(), "argument %s of %s is given twice", params[at], what)
			continue
		}
		bound[at] = a.Value
	}
	var missing []string
	for i, e := range bound {
		if e == nil && required(i) {
			missing = append(missing, params[i])
		}
	}
	if ok && len(missing) > 0 {
		fail(span, "%s lacks %s", what, strings.Join(missing, ", ")).Hint = argumentsHint(params, required)
	}
	if !ok {
		for _, a := range list {
			c.expr(a.Value) // for the errors in it
		}
		return nil
	}
	return bound
}

// argumentsHint lists the arguments of a function.
func argumentsHint(params []string, required func(i int) bool) string {
	var must, may []string
	for i, p := range params {
		if required(i) {
			must = append(must, p)
		} else {
			may = append(may, p)
		}
	}
	switch {
	case len(may) == 0:
		return "its arguments are " + strings.Join(must, ", ")
	case len(must) == 0:
		return "its arguments are " + strings.Join(may, ", ") + ", all optional"
	}
	return "its arguments are " + strings.Join(must, ", ") + ", and optionally " + strings.Join(may, ", ")
}

// callFunction compiles a call of a def.
func (c *compiler) callFunction(f *function, args *syntax.Args, span diag.Span) code {
	if f.state == underway {
		d := c.m.report(diag.Recursion, span, "%s calls itself, here or through others", f.def.Name.Text)
		*d = d.WithNote(f.def.Name.Span(), "%s is declared here", f.def.Name.Text)
		d.Hint = "a for loop repeats; functions may call only functions that do not lead back"
		return c.badCode()
	}
	c.function(f)
	c.depth = max(c.depth, f.depth+1)
	if c.depth > c.m.lim.Nesting {
		d := c.m.report(diag.Limit, span, "calls are nested more than %d deep, the limit nesting", c.m.lim.Nesting)
		d.Hint = diag.LimitHint("nesting", int64(c.depth))
		return c.badCode()
	}
	params := make([]string, len(f.def.Params))
	for i, p := range f.def.Params {
		params[i] = p.Name
	}
	decl := f.def.Name.Span()
	required := func(i int) bool { return f.def.Params[i].Default == nil }
	bound := c.bind(f.def.Name.Text, args.List, params, required, span, &decl)
	if bound == nil || f.kind == kBad {
		return c.badCode()
	}
	given := make([]func() value, len(bound))
	for i, e := range bound {
		if e != nil {
			given[i] = c.valueOf(e).value()
		}
	}
	return c.invoke(f, given, span)
}

// callCost is the steps that a call takes, beside those of what it calls.
const callCost = 4

// A caller is one place that calls a function.
type caller struct {
	m      *machine
	f      *function
	given  []func() value // nil where the default holds
	kept   []value
	before []bool // of each activation: something failed in the caller's expression already
	span   diag.Span
	cost   int64
}

// enter computes the arguments and stores them, and says whether the function
// may run. All are computed before the first is stored: one of them may call
// the same function.
func (c *caller) enter() bool {
	m := c.m
	c.before = append(c.before, m.bad)
	m.bad = false
	for i, g := range c.given {
		if g != nil {
			if c.kept[i] = g(); m.bad {
				c.kept[i], m.bad = badValue, false
			}
		}
	}
	for i, g := range c.given {
		if g != nil {
			*c.f.slots[i] = c.kept[i]
		} else if *c.f.slots[i] = c.f.preset[i](); m.bad {
			*c.f.slots[i], m.bad = badValue, false
		}
	}
	m.running = append(m.running, running{call: c})
	return m.step(c.cost, &c.span)
}

// leave ends what enter began.
func (c *caller) leave() {
	last := len(c.before) - 1
	c.m.bad = c.m.bad || c.before[last]
	c.before = c.before[:last]
	c.m.running = c.m.running[:len(c.m.running)-1]
}

// run runs a function that is a block, and returns what it returns.
func (c *caller) run() value {
	m := c.m
	m.result = value{}
	if c.enter() {
		c.f.body()
	}
	v := m.result
	m.result = value{}
	c.leave()
	if v.kind == kBad || m.dead {
		m.bad = true
	} else if v.kind == kNone && c.f.kind != kNone {
		d := m.fault(diag.Kind, c.span, "%s came to its end without a return", c.f.def.Name.Text)
		*d = d.WithNote(c.f.def.Name.Span(), "%s is declared here", c.f.def.Name.Text)
	}
	return v
}

// invoke makes the closure of a call.
func (c *compiler) invoke(f *function, given []func() value, span diag.Span) code {
	call := &caller{m: c.m, f: f, given: given, kept: make([]value, len(given)), span: span,
		cost: callCost + int64(len(f.def.Tokens))/16}
	run := call.run
	if f.body == nil {
		val := f.result.value()
		run = func() value {
			v := badValue
			if call.enter() {
				v = val()
			}
			call.leave()
			return v
		}
	}
	switch {
	case f.kind.numeric():
		return code{kind: f.kind, num: number{run: func() int64 { return run().n }}}
	case f.kind == kRef:
		return code{kind: kRef, ref: func() ref { return run().ref }}
	}
	return code{kind: f.kind, val: run}
}

// function compiles f, once.
func (c *compiler) function(f *function) {
	if f.state != notYet {
		return
	}
	f.state = underway
	outer := *c
	defer func() {
		f.depth = c.depth
		*c = outer
		f.state = compiled
	}()
	c.fn, c.depth, c.custom = f, 0, false
	c.scope = newScope(f.home.top)
	for _, p := range f.def.Params {
		slot := new(value)
		f.slots = append(f.slots, slot)
		f.preset = append(f.preset, nil)
		if p.Default != nil { // it sees the parameters before it
			f.preset[len(f.preset)-1] = c.valueOf(p.Default).value()
		}
		c.declare(&name{text: p.Name, span: diag.Span{Pos: diag.Pos(p.Pos), Len: len(p.Name)}, sort: aParam, kind: kAny,
			slot: slot})
	}
	if f.def.Result != nil {
		f.result = c.expr(f.def.Result)
		f.kind = f.result.kind
		return
	}
	f.body = c.stmts(f.def.Body.Stmts)
}

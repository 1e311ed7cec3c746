package lang

import (
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file compiles statements to functions; assign.go has those that give
// variables their values. Names become slots: as no function calls itself,
// every variable of the program has one slot for ever, and closures hold
// pointers to slots.

// flow says how a statement ended.
type flow uint8

const (
	goOn     flow = iota
	returned      // by a return
	halted        // the run is over
)

// An exec is a compiled statement.
type exec func() flow

// A source is one file with the names of its top level.
type source struct {
	file      *syntax.File
	top       *scope
	functions []*function
	main      bool // the file that has the algorithm
}

// A function is a def.
type function struct {
	def     *syntax.Def
	home    *source
	state   compileState
	depth   int // of calls below it
	slots   []*value
	preset  []func() value // the defaults
	kind    kind           // of what it returns
	returns bool           // it has a return
	result  code
	body    exec
}

type compileState uint8

const (
	notYet compileState = iota
	underway
	compiled
)

// A compiler turns the tree into closures over a machine.
type compiler struct {
	m        *machine
	main     *syntax.File // the file that has the algorithm
	universe *scope
	scope    *scope
	fn       *function            // being compiled
	topNames map[string]diag.Span // the variables of the file's top level, declared yet or not
	custom   bool                 // inside the block of a custom collective
	depth    int                  // of calls found below fn
}

func (c *compiler) inFunction() bool { return c.fn != nil }

func silent() flow { return goOn }

// block compiles statements in a scope of their own.
func (c *compiler) block(b *syntax.Block) exec {
	c.scope = newScope(c.scope)
	defer func() { c.scope = c.scope.outer }()
	return c.stmts(b.Stmts)
}

func (c *compiler) stmts(stmts []syntax.Stmt) exec {
	m := c.m
	list := make([]exec, 0, len(stmts))
	for _, s := range stmts {
		if x := c.stmt(s); x != nil {
			list = append(list, x)
		}
	}
	if len(list) == 1 {
		only := list[0]
		return func() flow { return m.ended(only()) }
	}
	return func() flow {
		for _, s := range list {
			if f := m.ended(s()); f != goOn {
				return f
			}
		}
		return goOn
	}
}

// ended ends a statement, which failed or not.
func (m *machine) ended(f flow) flow {
	if m.bad {
		m.bad = false
		if m.dead {
			return halted
		}
	}
	return f
}

// stmt compiles one statement.
func (c *compiler) stmt(s syntax.Stmt) exec {
	if c.custom {
		switch s.(type) {
		case *syntax.Let, *syntax.If, *syntax.For, *syntax.Require, *syntax.Simple:
		default:
			c.m.report(diag.Declaration, s.Base().Span(), "a custom collective holds for, if, let and require only")
			return nil
		}
	}
	switch s := s.(type) {
	case *syntax.Let:
		return c.let(s)
	case *syntax.If:
		return c.branch(s)
	case *syntax.For:
		return c.loop(s)
	case *syntax.Parallelize:
		return c.parallelize(s)
	case *syntax.Return:
		return c.ret(s)
	case *syntax.Require:
		return c.require(s)
	case *syntax.Simple:
		switch {
		case s.Value != nil:
			return c.assign(s)
		case s.Body != nil:
			return c.pipeline(s)
		}
		return c.bare(s)
	}
	c.m.report(diag.Declaration, s.Base().Span(), "this belongs to the top of the file, outside of every block")
	return nil
}

// valueOf compiles an expression that must have a value.
func (c *compiler) valueOf(e *syntax.Expr) code {
	x := c.expr(e)
	if x.kind == kNone {
		c.m.report(diag.Kind, e.Span(), "this has no value")
		return c.badCode()
	}
	return x
}

// bare compiles an expression for what it does.
func (c *compiler) bare(s *syntax.Simple) exec {
	if !doesSomething(s.X) {
		if c.expr(s.X).kind != kBad {
			d := c.m.report(diag.Unused, s.X.Span(),
				"this does nothing: a statement is a call of a function, a copy or a reduce")
			if ops := s.X.Left.Ops; len(ops) > 0 && ops[0] == "-" {
				d.Hint = syntax.OperatorHint("-")
			}
		}
		return nil
	}
	x := c.expr(s.X)
	num, ref, val := x.num, x.ref, x.val
	switch {
	case x.kind.numeric():
		return func() flow { num.get(); return goOn }
	case x.kind == kRef:
		return func() flow { ref(); return goOn }
	}
	return func() flow { val(); return goOn }
}

// doesSomething reports whether e ends with a call of a function or an operation.
func doesSomething(e *syntax.Expr) bool {
	u := e.Left
	n := len(u.Suffixes)
	if len(e.Rest) > 0 || len(u.Ops) > 0 {
		return false
	}
	if n == 0 {
		p, ok := u.X.(*syntax.Paren)
		return ok && doesSomething(p.X)
	}
	if u.Suffixes[n-1].Args == nil {
		return false
	}
	if n > 1 {
		return u.Suffixes[n-2].Field != nil
	}
	f, ok := u.X.(*syntax.Name)
	return ok && !pure[f.Text]
}

// pure are the builtins whose value is all they are for.
var pure = map[string]bool{"chunk": true, "min": true, "max": true, "abs": true, "log2": true, "len": true}

func (c *compiler) branch(s *syntax.If) exec {
	m := c.m
	type arm struct {
		cond number
		then exec
	}
	arms := []arm{{c.number(s.Cond, kBool, "the condition"), c.block(s.Then)}}
	for _, e := range s.Elif {
		arms = append(arms, arm{c.number(e.Cond, kBool, "the condition"), c.block(e.Then)})
	}
	last := silent
	if s.Else != nil {
		last = c.block(s.Else)
	}
	return func() flow {
		for i := range arms {
			yes := arms[i].cond.get()
			if m.bad { // neither arm runs, and what they would have done is not known
				m.lost = true
				return goOn
			}
			if yes != 0 {
				return arms[i].then()
			}
		}
		return last()
	}
}

func (c *compiler) parallelize(s *syntax.Parallelize) exec {
	m, n, body, span := c.m, c.number(s.N, kInt, "the number of parts"), c.block(s.Body), s.N.Span()
	return func() flow {
		ways, before := n.get(), m.prog.ways
		switch {
		case m.bad:
			ways = 1
			m.bad = false
		case ways < 1:
			m.fault(diag.OutOfBounds, span, "parallelize(%d): there must be at least 1 part", ways)
			ways = 1
		case ways > int64(m.lim.Parts)/int64(before):
			m.exhausted("parts", int64(m.lim.Parts), diag.LimitHint("parts", diag.AtMost(int64(before), ways)), &span,
				"parallelize makes more than %d parts")
			return halted
		}
		m.prog.ways = before * int32(ways)
		f := body()
		m.prog.ways = before
		return f
	}
}

func (c *compiler) ret(s *syntax.Return) exec {
	m := c.m
	if !c.inFunction() {
		c.m.report(diag.Declaration, s.Span(), "return outside of a function")
		return nil
	}
	x := code{kind: kNone, val: func() value { return value{} }}
	if s.Value != nil {
		x = c.valueOf(s.Value)
	}
	switch {
	case !c.fn.returns:
		c.fn.kind, c.fn.returns = x.kind, true
	case c.fn.kind != x.kind:
		c.fn.kind = kAny
	}
	val := x.value()
	return func() flow {
		m.result = val()
		if m.bad {
			m.result = badValue
		}
		return returned
	}
}

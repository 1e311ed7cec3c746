package lang

import (
	"errors"
	"slices"
	"strings"

	"mscclc/ir/diag"
	"mscclc/ir/epilogue"
	"mscclc/lang/syntax"
)

// This file compiles c.then(STAGES), which says what becomes of the rows of a complete sum on their way to the output
// (ir/epilogue).

// thenCall compiles src.then(stage, ...).
func (c *compiler) thenCall(src func() ref, args *syntax.Args, of, span diag.Span) code {
	list, ok := c.stages(args, span)
	if !ok {
		return c.badCode()
	}
	m := c.m
	s := c.newSite(span, of, args.Span())
	return code{kind: kRef, ref: func() ref {
		v := src()
		if m.bad || !m.ready(&s.span) {
			m.bad, m.lost = true, true
			return ref{}
		}
		if v.empty() || !m.usable(s, v) {
			return v
		}
		return m.finish(s, v, list)
	}}
}

// stages reads the arguments of then. It returns false after an error.
func (c *compiler) stages(args *syntax.Args, span diag.Span) (list epilogue.List, ok bool) {
	ok = true
	for _, a := range args.List {
		s, good := c.stage(a)
		list, ok = append(list, s), ok && good
	}
	if len(args.List) == 0 {
		c.m.report(diag.Arguments, span, "then lacks its stages").Hint = "they are " + strings.Join(epilogue.Names(), ", ")
		return nil, false
	}
	if at, err := list.CheckAt(); ok && err != nil {
		c.wrong(diag.Arguments, args.List[at].Span(), err)
		return nil, false
	}
	return list, ok
}

// stage reads a stage: a name, or a name with its argument in parentheses, such as quantise(e4m3, block = 128).
func (c *compiler) stage(a *syntax.Arg) (s epilogue.Stage, ok bool) {
	u := a.Value.Left
	name, isName := u.X.(*syntax.Name)
	if a.Name != nil || len(a.Value.Rest) > 0 || len(u.Ops) > 0 || !isName || len(u.Suffixes) > 1 {
		c.m.report(diag.Arguments, a.Span(), "this is no stage of an epilogue").Hint =
			"the stages are " + strings.Join(epilogue.Names(), ", ")
		return s, false
	}
	kind, known := epilogue.ByName(name.Text)
	if !known {
		_, err := epilogue.NewStage(name.Text, "", 0)
		c.wrong(diag.Undefined, name.Span(), err)
		return s, false
	}
	argument, block, ok := "", int64(0), true
	if len(u.Suffixes) > 0 {
		if argument, block, ok = c.stageArgs(kind, u.Suffixes[0]); !ok {
			return s, false
		}
	}
	s, err := epilogue.NewStage(name.Text, argument, block)
	if err != nil {
		c.wrong(diag.Arguments, a.Span(), err)
		return s, false
	}
	return s, true
}

// wrong reports what is wrong with stages.
func (c *compiler) wrong(code diag.Code, span diag.Span, err error) {
	d := c.m.report(code, span, "%v", err)
	if w := new(epilogue.Wrong); errors.As(err, &w) {
		d.Text, d.Hint = w.Text, w.Hint
	}
}

// stageArgs reads the parentheses of a stage: a word, and for some kinds block = N after it.
func (c *compiler) stageArgs(kind epilogue.Kind, x *syntax.Suffix) (argument string, block int64, ok bool) {
	bad := func(span diag.Span, word string) (string, int64, bool) {
		c.wrong(diag.Arguments, span, epilogue.BadArgument(kind, word))
		return "", 0, false
	}
	if x.Args == nil {
		return bad(x.Span(), "[...]")
	}
	for i, a := range x.Args.List {
		word := plainName(a.Value)
		switch {
		case i == 0 && a.Name == nil && word != nil && slices.Contains(epilogue.Arguments(kind), word.Text):
			argument = word.Text
		case i == 1 && a.Name != nil && a.Name.Text == "block" && epilogue.Stages[kind].Block:
			if block, ok = c.blockOf(a.Value); !ok {
				return "", 0, false
			}
		case a.Name != nil:
			return bad(a.Name.Span(), a.Name.Text)
		case word != nil:
			return bad(a.Span(), word.Text)
		default:
			return bad(a.Span(), "this")
		}
	}
	return argument, block, true
}

// blockOf reads N of block = N.
func (c *compiler) blockOf(e *syntax.Expr) (block int64, ok bool) {
	u := e.Left
	n, isInt := u.X.(*syntax.Int)
	if !isInt || len(e.Rest)+len(u.Suffixes) > 0 {
		c.m.report(diag.Arguments, e.Span(), "a block is a number").Hint = "block = 128"
		return 0, false
	}
	if block, ok = syntax.ParseInt(n.Text); !ok || len(u.Ops) > 0 || block < 1 || block > epilogue.MostBlock {
		c.m.report(diag.Arguments, e.Span(), "a block has 1 to %d elements", epilogue.MostBlock)
		return 0, false
	}
	return block, true
}

package lang

import (
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/internal/channels"
	"mscclc/lang/syntax"
)

// This file compiles pipeline(unit = BYTES, chunks = N) { }: in every block that
// does something in it, one loop over what it does there.

// pipelineCall is pipeline(...) without its block, or where none can be.
func pipelineCall(c *compiler, args *syntax.Args, span diag.Span) code {
	for _, a := range args.List {
		c.expr(a.Value)
	}
	c.m.report(diag.Arguments, span,
		"pipeline lacks its block").Hint = "pipeline(unit = 64K, chunks = 1) { ... } is a statement"
	return c.badCode()
}

// misspeltBlock returns the word that x, which has a block after it, begins with, and what to write instead: "" where
// the word is a name.
func (c *compiler) misspeltBlock(x *syntax.Expr) (word *syntax.Name, hint string) {
	word, is := x.Left.X.(*syntax.Name)
	if !is || c.scope.lookup(word.Text) != nil {
		return nil, ""
	}
	return word, syntax.KeywordHint(word.Text, syntax.BlockKeywords)
}

// pipeline compiles a call that has a block.
func (c *compiler) pipeline(s *syntax.Simple) exec {
	f, args := pipelineHead(s.X)
	if word, hint := c.misspeltBlock(s.X); hint != "" {
		c.m.report(diag.Syntax, word.Span(), "%s is not a keyword", word.Text).Hint = hint
		c.block(s.Body)
		return nil
	}
	if f == nil {
		c.m.report(diag.Syntax, s.Body.Span(),
			"no block belongs here").Hint = "if, for, parallelize, def and pipeline(...) have blocks"
		c.expr(s.X)
		c.block(s.Body)
		return nil
	}
	if n := c.resolve(f, toCall); n == nil || n.sort != aBuiltin {
		if n != nil {
			d := c.m.report(diag.Kind, f.Span(), "this pipeline has no block")
			*d = d.WithNote(n.span, "it is declared here")
		}
		c.block(s.Body)
		return nil
	}
	span := s.X.Span()
	bound := c.bind("pipeline", args.List, []string{"unit", "chunks"}, all, span, nil)
	body := c.block(s.Body)
	if bound == nil {
		return nil
	}
	m, site := c.m, c.newSite(span, span, span)
	unit, chunks := c.number(bound[0], kInt, "the unit"), c.number(bound[1], kInt, "the chunks")
	return func() flow {
		p := &channels.Pipeline{Unit: unit.get(), Pos: site.pos, Span: span}
		n := chunks.get()
		var ch *channels.Level
		if !m.bad {
			ch = m.level(span)
		}
		switch {
		case m.bad:
			m.lost = true
			return goOn
		case ch.Pipeline() != nil:
			d := m.fault(diag.Channel, span, "a pipeline in a pipeline")
			*d = d.WithNote(ch.Pipeline().Span, "the outer one is here")
			return goOn
		case p.Unit < 1 || p.Unit > math.MaxInt32:
			m.fault(diag.OutOfBounds, bound[0].Span(), "a loop iteration does 1 to %d bytes, not %d", math.MaxInt32, p.Unit)
			return goOn
		case n < 1 || n > math.MaxInt32:
			m.fault(diag.OutOfBounds, bound[1].Span(), "a pipeline goes over 1 chunk or more, not %d", n)
			return goOn
		}
		p.Chunks = int32(n)
		ch.Open(p)
		f := body()
		ch.Close()
		return f
	}
}

// pipelineHead returns the parts of a plain call of pipeline, or nil.
func pipelineHead(e *syntax.Expr) (*syntax.Name, *syntax.Args) {
	u := e.Left
	if len(e.Rest) > 0 || len(u.Ops) > 0 || len(u.Suffixes) != 1 || u.Suffixes[0].Args == nil {
		return nil, nil
	}
	f, ok := u.X.(*syntax.Name)
	if !ok || f.Text != "pipeline" {
		return nil, nil
	}
	return f, u.Suffixes[0].Args
}

// takes checks that an operation goes through the chunks of the pipeline.
func (m *machine) takes(p *channels.Pipeline, s *site, op *ir.ChannelOp) bool {
	if len(op.Dsts) == 0 || op.Dsts[0].Count == p.Chunks {
		return true
	}
	e := m.fault(diag.Counts, s.span, "this is of %s, in a pipeline over %s", chunks(int64(op.Dsts[0].Count)),
		chunks(int64(p.Chunks)))
	*e = e.WithNote(p.Span, "the pipeline is here")
	return false
}

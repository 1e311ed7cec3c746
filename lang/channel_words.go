package lang

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/internal/channels"
	"mscclc/lang/syntax"
)

// This file compiles the functions of the level of channels, but for channel
// (channel.go) and pipeline (pipeline.go). They are no words of the language: a
// file's own names may hide them.

// channelWords returns the scope outside of the language's own.
func channelWords() *scope {
	s := newScope(nil)
	for text, call := range map[string]builtin{
		"channel": (*compiler).channelCall, "semaphore": (*compiler).semaphoreCall, "barrier": (*compiler).barrierCall,
		"launch": (*compiler).launchCall, "pipeline": pipelineCall,
	} {
		s.names[text] = &name{text: text, sort: aBuiltin, call: call}
	}
	return s
}

// semaphoreCall compiles semaphore(rank, initial = 0).
func (c *compiler) semaphoreCall(args *syntax.Args, span diag.Span) code {
	bound := c.bind("semaphore", args.List, []string{"rank", "initial"}, func(i int) bool { return i < 1 }, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m, rank, initial := c.m, c.number(bound[0], kInt, "the rank"), constant(0)
	if bound[1] != nil {
		initial = c.number(bound[1], kInt, "the initial value")
	}
	return code{kind: kSemaphore, num: number{run: func() int64 {
		r, n := rank.get(), initial.get()
		if m.bad {
			return 0
		}
		ch := m.level(span)
		if ch == nil || !m.rankAt(r, span) || !m.elements(0, 2, span) {
			return 0
		}
		if n < 0 || n > maxSemaphore {
			m.fault(diag.OutOfBounds, span, "a semaphore begins with 0 to %d, not %d", maxSemaphore, n)
			return 0
		}
		return ch.AddSemaphore(int32(r), int32(n))
	}}}
}

// maxSemaphore is the most that a semaphore begins with.
const maxSemaphore = 1 << 20

// barrierCall compiles barrier(rank, tbs).
func (c *compiler) barrierCall(args *syntax.Args, span diag.Span) code {
	bound := c.bind("barrier", args.List, []string{"rank", "tbs"}, all, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m, rank := c.m, c.number(bound[0], kInt, "the rank")
	tbs, at := c.of(bound[1], kList, "the thread blocks of a barrier"), bound[1].Span()
	s := c.newSite(span, at, at)
	return code{kind: kNone, val: func() value {
		r, v := rank.get(), tbs()
		if m.bad || m.level(span) == nil || !m.rankAt(r, bound[0].Span()) {
			return badValue
		}
		list := m.blocksOf(nil, &v, at)
		if m.bad {
			return badValue
		}
		m.barrier(s, int32(r), list)
		return value{}
	}}
}

// launchCall compiles launch(threads, align, double_scratch, reuse_scratch).
func (c *compiler) launchCall(args *syntax.Args, span diag.Span) code {
	names := []string{"threads", "align", "double_scratch", "reuse_scratch"}
	bound := c.bind("launch", args.List, names, func(int) bool { return false }, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m := c.m
	set := [4]number{constant(channels.UsualThreads), constant(channels.UsualAlign), constant(0), constant(0)}
	for i, e := range bound {
		if e != nil {
			k := kInt
			if i >= 2 {
				k = kBool
			}
			set[i] = c.number(e, k, names[i])
		}
	}
	return code{kind: kNone, val: func() value {
		l := channels.Launch{Span: span, Threads: set[0].get(), Align: set[1].get(), Double: set[2].get() != 0,
			Reuse: set[3].get() != 0}
		if m.bad {
			return badValue
		}
		if ch := m.level(span); ch != nil {
			m.launched(ch, &l)
		}
		return value{}
	}}
}

// launched sets what launches are like, once.
func (m *machine) launched(ch *channels.Level, l *channels.Launch) {
	switch {
	case ch.Launch.Threads != 0:
		d := m.fault(diag.Declaration, l.Span, "launch stands twice")
		*d = d.WithNote(ch.Launch.Span, "it stood here first")
	case l.Threads < 1 || l.Threads > 1024 || l.Threads%32 != 0:
		m.fault(diag.OutOfBounds, l.Span, "a thread block has 32 to 1024 threads, a multiple of 32, not %d", l.Threads)
	case l.Align < 1 || l.Align > 1<<20 || l.Align&(l.Align-1) != 0:
		m.fault(diag.OutOfBounds, l.Span, "align is a power of two of bytes, not %d", l.Align)
	default:
		ch.Launch = *l
	}
}

// barrier adds a barrier of blocks. Of one block it is a meet of its threads.
func (m *machine) barrier(s *site, rank int32, tbs []int32) {
	slices.Sort(tbs)
	d := ir.ChannelOp{Kind: ir.ChMeet, Type: ir.NoChannel}
	if len(tbs) > 1 {
		ch := m.prog.channels
		if !m.step(int64(ch.Barriers(rank)), &s.span) {
			return
		}
		d.Kind, d.ID, d.Blocks = ir.ChBarrier, ch.Barrier(rank, tbs), int32(len(tbs))
	}
	for _, tb := range tbs {
		m.emit(s, rank, tb, d)
	}
}

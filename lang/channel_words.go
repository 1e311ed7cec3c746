package lang

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file compiles the functions of the level of channels. They are no words
// of the language: a file's own names may hide them.

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

// channelCall compiles channel(rank, peer, via = memory | port) and
// channel(rank, ranks, via = switch).
func (c *compiler) channelCall(args *syntax.Args, span diag.Span) code {
	bound := c.bind("channel", args.List, []string{"rank", "peer", "via"}, func(i int) bool { return i < 2 }, span, nil)
	if bound == nil {
		return c.badCode()
	}
	via := ir.ViaMemory
	if bound[2] != nil {
		via = c.via(bound[2])
	}
	m, rank := c.m, c.number(bound[0], kInt, "the rank")
	switch via {
	case ir.ViaAny: // reported
		c.expr(bound[1])
		return c.badCode()
	case ir.ViaSwitch:
		ranks := c.of(bound[1], kList, "what a switch channel connects")
		return code{kind: kChannel, num: number{run: func() int64 {
			r, list := rank.get(), ranks()
			if m.bad {
				return 0
			}
			return m.newSwitch(span, r, *list.list)
		}}}
	}
	peer, typ := c.number(bound[1], kInt, "the peer"), ir.MemoryChannel
	if via == ir.ViaPort {
		typ = ir.PortChannel
	}
	return code{kind: kChannel, num: number{run: func() int64 {
		r, q := rank.get(), peer.get()
		if m.bad {
			return 0
		}
		return m.newChannel(span, r, q, typ)
	}}}
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
		own := &ch.ranks[r].semas
		ch.semas = append(ch.semas, semaphore{int32(r), int32(len(*own))})
		*own = append(*own, int32(n))
		return int64(len(ch.semas)) - 1
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
	set := [4]number{constant(usualThreads), constant(usualAlign), constant(0), constant(0)}
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
		l := launchSettings{span: span, threads: set[0].get(), align: set[1].get(), double: set[2].get() != 0,
			reuse: set[3].get() != 0}
		if m.bad {
			return badValue
		}
		if ch := m.level(span); ch != nil {
			m.launched(ch, &l)
		}
		return value{}
	}}
}

const (
	usualThreads = 1024
	usualAlign   = 16
)

func (m *machine) launched(ch *channelLevel, l *launchSettings) {
	switch {
	case ch.launch.threads != 0:
		d := m.fault(diag.Declaration, l.span, "launch stands twice")
		*d = d.WithNote(ch.launch.span, "it stood here first")
	case l.threads < 1 || l.threads > 1024 || l.threads%32 != 0:
		m.fault(diag.OutOfBounds, l.span, "a thread block has 32 to 1024 threads, a multiple of 32, not %d", l.threads)
	case l.align < 1 || l.align > 1<<20 || l.align&(l.align-1) != 0:
		m.fault(diag.OutOfBounds, l.span, "align is a power of two of bytes, not %d", l.align)
	default:
		ch.launch = *l
	}
}

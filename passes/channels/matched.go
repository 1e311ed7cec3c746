package channels

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file words the errors of signals without waits and of waits without signals.

// matched reports flags that are raised and awaited unequally often in a launch.
func (u *unroller) matched() {
	for _, e := range u.order {
		s, a := &e.signals, &e.awaited
		switch {
		case s.n > a.n:
			text, hint := u.unawaited(e.key, s.n, a.n)
			d := u.sayAt(s.last.rank, s.last.at, s.last.pos, diag.Unmatched, "%s", text)
			if d.Hint = hint; a.n > 0 {
				*d = d.WithNote(u.p.Span(a.last.pos), "the last wait is %s", a.last.at.name(a.last.rank))
			}
			u.several(d, e.key)
		case s.n < a.n:
			text, hint := u.unsignalled(e.key, s.n, a.n)
			d := u.sayAt(a.last.rank, a.last.at, a.last.pos, diag.Unmatched, "%s", text)
			if d.Hint = hint; s.n > 0 {
				*d = d.WithNote(u.p.Span(s.last.pos), "the last signal is %s", s.last.at.name(s.last.rank))
			}
			u.several(d, e.key)
		}
	}
}

// unawaited says that a flag is signalled more often than it is awaited, and what to do.
func (u *unroller) unawaited(k endKey, signals, waits int32) (text, hint string) {
	if peer := u.peer(k); peer >= 0 {
		hint = fmt.Sprintf("add a wait at %s, or leave out this signal; "+
			"in .mscl, that is .wait(tb = 0) of the channel that channel(%d, %d) returned", u.endName(k), k.rank, peer)
		if waits == 0 {
			return fmt.Sprintf("signals rank %d, which never waits for it", k.rank), hint
		}
		text = "signals rank %d %s in a launch, and rank %d waits %s"
		return fmt.Sprintf(text, k.rank, times(signals), k.rank, times(waits)), hint
	}
	if k.kind == semaphoreEnd {
		hint = "a semaphore must be acquired as often as it is released"
	}
	if waits == 0 {
		return fmt.Sprintf("signals %s, and nothing waits for it", u.endName(k)), hint
	}
	return fmt.Sprintf("signals %s %s in a launch, and it is awaited %s", u.endName(k), times(signals), times(waits)), hint
}

// unsignalled says that a flag is awaited more often than it is signalled, and what to do.
func (u *unroller) unsignalled(k endKey, signals, waits int32) (text, hint string) {
	if peer := u.peer(k); peer >= 0 {
		hint = fmt.Sprintf("add a signal of rank %d to %s, or leave out this wait; "+
			"in .mscl, that is .signal(tb = 0) of the channel that channel(%d, %d) returned", peer, u.endName(k), peer, k.rank)
		if signals == 0 {
			return fmt.Sprintf("waits for a signal of rank %d, which never signals", peer), hint
		}
		return fmt.Sprintf("waits %s in a launch for signals of rank %d, which signals %s", times(waits), peer,
			times(signals)), hint
	}
	if k.kind == semaphoreEnd {
		hint = "a semaphore must be released as often as it is acquired"
	}
	if signals == 0 {
		return fmt.Sprintf("waits at %s, and nothing signals it", u.endName(k)), hint
	}
	return fmt.Sprintf("waits %s in a launch at %s, and it is signalled %s", times(waits), u.endName(k), times(signals)),
		hint
}

// several notes that a channel is one of several between two ranks: a signal of one is no signal of another.
func (u *unroller) several(d *diag.Diagnostic, k endKey) {
	peer := u.peer(k)
	if peer < 0 {
		return
	}
	typ, n := ir.MemoryChannel, 0
	if k.kind == portEnd {
		typ = ir.PortChannel
	}
	for _, c := range u.p.Ranks[k.rank].Channels[typ] {
		if c.Peer == peer {
			n++
		}
	}
	if n > 1 {
		*d = d.WithNote(diag.Span{}, "rank %d has %d %s channels to rank %d, whose signals are apart; in .mscl each call of "+
			"channel(%d, %d) makes another channel: call it once, and keep what it returns", k.rank, n, typ, peer, k.rank, peer)
	}
}

// peer returns the rank that signals the flag of a channel, or -1 where the flag is of none.
func (u *unroller) peer(k endKey) int32 {
	typ := ir.MemoryChannel
	switch k.kind {
	case memoryEnd:
	case portEnd:
		typ = ir.PortChannel
	default:
		return -1
	}
	if k.a < 0 {
		return -1
	}
	return u.p.Ranks[k.rank].Channels[typ][k.a].Peer
}

func times(n int32) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

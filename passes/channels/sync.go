package channels

import (
	"fmt"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// An endKey names what becomes a flag: where somebody waits for somebody.
type endKey struct {
	kind    endKind
	rank, a int32 // whose flag; its channel, semaphore, barrier or block
	b       int32 // of a barrier: the block that signals, or, negative, that awaits; of a port: the channel
	thread  int32 // of a port: that of the block, so that each flag is one thread's
}

type endKind uint8

const (
	memoryEnd endKind = iota
	portEnd
	semaphoreEnd
	barrierEnd
	putEnd  // a block signals its port
	doneEnd // a port signals its block
)

// An ends is a flag in the making.
type ends struct {
	key              endKey
	flag             int32
	signals, awaited endUse
	shared           bool // one pair's of several blocks'
}

// An endUse is who does something to a flag, and how often.
type endUse struct {
	n     int32
	by    *unrolled
	first usage
	last  usage
	other *usage // the first by another block
}

// A usage is one operation's.
type usage struct {
	rank int32
	at   source
	pos  int32
}

func (e *endUse) add(k *unrolled) {
	e.last = usage{k.rank, k.at, k.pos}
	switch {
	case e.n == 0:
		e.by, e.first = k, e.last
	case e.by != k && e.other == nil:
		e.other = &usage{k.rank, k.at, k.pos}
	}
	e.n++
}

func (u *unroller) end(key endKey) *ends {
	e := u.ends[key]
	if e == nil {
		e = &ends{key: key, flag: u.flags[key.rank]}
		u.flags[key.rank]++
		u.ends[key] = e
		u.order = append(u.order, e)
	}
	return e
}

// raise and take are the operands of a signal and of an await at flags.
func (u *unroller) raise(k *unrolled, key endKey) onesided.Operand {
	e := u.end(key)
	e.signals.add(k)
	return onesided.Operand{Rank: key.rank, Index: e.flag, Buf: ir.Flags}
}

func (u *unroller) take(k *unrolled, key endKey, before int32) onesided.Operand {
	e := u.end(key)
	e.awaited.add(k)
	return onesided.Operand{Rank: key.rank, Index: e.flag, Buf: ir.Flags, Nth: e.awaited.n - before}
}

// here returns the flag at a rank's own end of a channel, and there that at the peer's end.
func here(rank int32, t ir.ChannelType, c int32) endKey {
	return endKey{kind: endKind(t), rank: rank, a: c}
}

func (u *unroller) there(rank int32, t ir.ChannelType, c int32) endKey {
	list := u.p.Ranks[rank].Channels[t]
	peer, nth := list[c].Peer, 0
	for _, x := range list[:c] {
		if x.Peer == peer {
			nth++
		}
	}
	for i, x := range u.p.Ranks[peer].Channels[t] {
		if x.Peer == rank {
			if nth == 0 {
				return here(peer, t, int32(i))
			}
			nth--
		}
	}
	return endKey{kind: endKind(t), rank: peer, a: -1 - c, b: rank} // an end that nobody has
}

func relaxed(o *ir.ChannelOp) ir.StepFlags {
	if o.Kind.Info().Relaxed && o.Type == ir.MemoryChannel {
		return ir.Relaxed
	}
	return 0
}

// signal has thread i of the block signal on channel i, or ask its port to.
func (u *unroller) signal(k *unrolled, o *ir.ChannelOp) {
	s := unrolledStep{op: ir.Signal, flags: relaxed(o)}
	var asked []request
	for i, c := range o.Channels {
		there := u.there(k.rank, o.Type, c)
		if port := k.ports[c]; port != nil && o.Type == ir.PortChannel {
			port.at, port.pos = k.at, k.pos
			asked = append(asked,
				request{c, int32(i), []unrolledStep{{op: ir.Signal, dsts: []onesided.Operand{u.raise(port, there)}}}})
			s.dsts = append(s.dsts, u.raise(k, putKey(k, c, int32(i))))
		} else {
			s.dsts = append(s.dsts, u.raise(k, there))
		}
	}
	u.push(k, s, asked)
}

func (u *unroller) await(k *unrolled, o *ir.ChannelOp) {
	s := unrolledStep{op: ir.Await, flags: relaxed(o)}
	for _, c := range o.Channels {
		s.srcs = append(s.srcs, u.take(k, here(k.rank, o.Type, c), 0))
	}
	if len(s.srcs) > 0 {
		u.add(k, s)
	}
}

func (u *unroller) acquire(k *unrolled, o *ir.ChannelOp) {
	s := unrolledStep{op: ir.Await}
	for _, id := range o.Semaphores {
		s.srcs = append(s.srcs, u.take(k, endKey{kind: semaphoreEnd, rank: k.rank, a: id}, u.p.Ranks[k.rank].Semaphores[id]))
	}
	if len(s.srcs) > 0 {
		u.add(k, s)
	}
}

func (u *unroller) release(k *unrolled, o *ir.ChannelOp) {
	s := unrolledStep{op: ir.Signal}
	for _, id := range o.Semaphores {
		s.dsts = append(s.dsts, u.raise(k, endKey{kind: semaphoreEnd, rank: k.rank, a: id}))
	}
	if len(s.dsts) > 0 {
		u.add(k, s)
	}
}

// meeting finds which blocks come to each barrier of a rank.
func (u *unroller) meeting(r int32) {
	for b, ops := range u.p.Ranks[r].Blocks {
		for i := range ops {
			for _, o := range append([]ir.ChannelOp{ops[i]}, ops[i].Body...) {
				key := [2]int32{r, o.ID}
				if list := u.meets[key]; o.Kind == ir.ChBarrier && !slices.Contains(list, int32(b)) {
					u.meets[key] = append(list, int32(b))
				}
			}
		}
	}
}

// barrier has a block meet others: all signal the first, and that signals all.
func (u *unroller) barrier(k *unrolled, o *ir.ChannelOp) {
	all := u.meets[[2]int32{k.rank, o.ID}]
	k.open = false
	switch n := int32(len(all)); {
	case n < o.Blocks:
		u.say(k, diag.Deadlock, "waits for %d blocks at barrier %d, and %d come to it", o.Blocks, o.ID, n)
		return
	case n > o.Blocks:
		u.say(k, diag.Undecided, "waits for %d blocks at barrier %d, and %d come to it: which of them synchronise depends on timing",
			o.Blocks, o.ID, n)
		return
	}
	up := func(b int32) endKey { return endKey{kind: barrierEnd, rank: k.rank, a: o.ID, b: b} }
	down := func(b int32) endKey { return endKey{kind: barrierEnd, rank: k.rank, a: o.ID, b: -1 - b} }
	if k.owner != all[0] {
		u.alone(k, unrolledStep{op: ir.Signal, dsts: []onesided.Operand{u.raise(k, up(k.owner))}})
		u.alone(k, unrolledStep{op: ir.Await, srcs: []onesided.Operand{u.take(k, down(k.owner), 0)}})
		return
	}
	var in, out []onesided.Operand
	for _, b := range all[1:] {
		in, out = append(in, u.take(k, up(b), 0)), append(out, u.raise(k, down(b)))
	}
	if len(in) > 0 {
		u.alone(k, unrolledStep{op: ir.Await, srcs: in})
		u.alone(k, unrolledStep{op: ir.Signal, dsts: out})
	}
}

// alone appends a step that is a group of its own.
func (u *unroller) alone(k *unrolled, s unrolledStep) {
	k.open = false
	u.add(k, s)
	k.open = false
}

// endName names a flag for a message.
func (u *unroller) endName(k endKey) string {
	channel := func(t ir.ChannelType, name string) string {
		if k.a < 0 {
			return fmt.Sprintf("an end of a %s channel that rank %d does not have", name, k.rank)
		}
		return fmt.Sprintf("%s channel %d of rank %d, to rank %d", name, k.a, k.rank, u.p.Ranks[k.rank].Channels[t][k.a].Peer)
	}
	switch k.kind {
	case memoryEnd:
		return channel(ir.MemoryChannel, "memory")
	case portEnd:
		return channel(ir.PortChannel, "port")
	case semaphoreEnd:
		return fmt.Sprintf("semaphore %d of rank %d", k.a, k.rank)
	case barrierEnd:
		return fmt.Sprintf("barrier %d of rank %d", k.a, k.rank)
	}
	return fmt.Sprintf("port channel %d of rank %d", k.b, k.rank)
}

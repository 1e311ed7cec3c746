package xmljudge

import "slices"

// A rank is one <gpu>.
type rank struct {
	*judge
	id, in, out, scratch int
}

type block struct {
	line, id, send, recv, channel int
	steps                         []step
}

type step struct {
	line               int
	kind               string
	srcbuf, dstbuf     string
	src, dst, count    int
	depid, deps        int
	hasdep             bool
	sends, recvs       bool
	readsSrc, usesDst  bool
	reduction, carries bool // re; a nop
}

// A wire is a connection: messages from one rank to another on a channel.
type wire struct{ channel, from, to int }

// traffic is the counts of a wire's messages in order, as each end has them,
// and how many blocks hold each end.
type traffic struct {
	sent, received  []int
	senders, takers int
	sentAt, takenAt int // lines
}

func (j *judge) wire(channel, from, to int) *traffic {
	w := j.wires[wire{channel, from, to}]
	if w == nil {
		w = &traffic{}
		j.wires[wire{channel, from, to}] = w
	}
	return w
}

// pairs checks that both ends of every connection agree.
func (j *judge) pairs() {
	bad, line := 0, 1<<62
	for _, t := range j.wires {
		if !slices.Equal(t.sent, t.received) || t.senders > 1 || t.takers > 1 {
			bad++
			line = min(line, max(t.sentAt, t.takenAt))
		}
	}
	if bad > 0 {
		j.say(line, "%d connections have ends that differ in counts or order, or two blocks at one end", bad)
	}
}

func (g *rank) block(n *node) *block {
	j := g.judge
	j.element(n, "tb")
	b := &block{line: n.line, id: j.num(n, "id"), send: j.num(n, "send"), recv: j.num(n, "recv"),
		channel: j.num(n, "chan")}
	j.within(n.line, "send", b.send, -1, j.ranks-1)
	j.within(n.line, "recv", b.recv, -1, j.ranks-1)
	j.within(n.line, "chan", b.channel, 0, min(j.channels, j.r.channels)-1)
	if b.send == g.id || b.recv == g.id {
		j.say(n.line, "gpu %d has itself for a peer", g.id)
	}
	j.within(n.line, "the number of steps", len(n.nodes), 0, j.r.steps)
	if b.send >= 0 {
		w := j.wire(b.channel, g.id, b.send)
		w.senders++
		w.sentAt = n.line
	}
	if b.recv >= 0 {
		w := j.wire(b.channel, b.recv, g.id)
		w.takers++
		w.takenAt = n.line
	}
	b.steps = make([]step, len(n.nodes))
	for i := range n.nodes {
		b.steps[i] = g.step(&n.nodes[i], i, b)
	}
	g.nops(b)
	g.chains(b)
	return b
}

// step reads and checks one step by itself.
func (g *rank) step(n *node, i int, b *block) step {
	j := g.judge
	j.element(n, "step")
	s := step{line: n.line, kind: j.text(n, "type"), srcbuf: j.text(n, "srcbuf"), dstbuf: j.text(n, "dstbuf"),
		src: j.num(n, "srcoff"), dst: j.num(n, "dstoff"), count: j.num(n, "cnt"), depid: j.num(n, "depid"),
		deps: j.num(n, "deps")}
	if at := j.num(n, "s"); at != i {
		j.say(n.line, "step %d is numbered %d", i, at)
	}
	hasdep := j.num(n, "hasdep")
	j.within(n.line, "hasdep", hasdep, 0, 1)
	s.hasdep = hasdep == 1
	fused := false
	switch s.kind {
	case "nop":
		s.carries = true
	case "s":
		s.sends, s.readsSrc = true, true
	case "r":
		s.recvs, s.usesDst = true, true
	case "rcs":
		s.recvs, s.sends, s.usesDst, fused = true, true, true, true
	case "rrc":
		s.recvs, s.readsSrc, s.usesDst, fused = true, true, true, true
	case "rrcs":
		s.recvs, s.sends, s.readsSrc, s.usesDst, fused = true, true, true, true, true
	case "rrs":
		s.recvs, s.sends, s.readsSrc, fused = true, true, true, true
	case "cpy":
		s.readsSrc, s.usesDst = true, true
	case "re":
		s.readsSrc, s.usesDst, s.reduction = true, true, true
	default:
		j.say(n.line, "type is %q", s.kind)
	}
	if fused && !j.r.fused {
		j.say(n.line, "%s is a fused receive", s.kind)
	}
	j.within(n.line, "cnt", s.count, 0, maxCount)
	if !s.carries && s.count == 0 {
		j.say(n.line, "cnt is 0")
	}
	g.operand(n, s.srcbuf, s.src, s.count, s.readsSrc)
	g.operand(n, s.dstbuf, s.dst, s.count, s.usesDst)
	if s.sends {
		if b.send < 0 {
			j.say(n.line, "%s in a block without send", s.kind)
		} else {
			w := j.wire(b.channel, g.id, b.send)
			w.sent = append(w.sent, s.count)
		}
	}
	if s.recvs {
		if b.recv < 0 {
			j.say(n.line, "%s in a block without recv", s.kind)
		} else {
			w := j.wire(b.channel, b.recv, g.id)
			w.received = append(w.received, s.count)
		}
	}
	return s
}

// operand checks a buffer and an offset, and that a used one lies inside.
func (g *rank) operand(n *node, buf string, at, count int, used bool) {
	size := 0
	switch buf {
	case "i":
		size = g.in
	case "o":
		size = g.out
	case "s":
		size = g.scratch
	default:
		g.say(n.line, "buffer %q", buf)
	}
	g.within(n.line, "an offset", at, -1, maxOffset)
	if used && (at < 0 || at+count > size) {
		g.say(n.line, "%s[%d..%d] is not inside its %d chunks", buf, at, at+count, size)
	}
}

// nops checks that nops carry a dependence each to a step with one of its own.
func (g *rank) nops(b *block) {
	for i := range b.steps {
		s := &b.steps[i]
		if s.carries && s.depid < 0 {
			g.say(s.line, "a nop has no dependence")
		}
		if s.carries && i+1 == len(b.steps) {
			g.say(s.line, "a nop is the last step")
		}
		if i > 0 && b.steps[i-1].carries && s.depid < 0 {
			g.say(s.line, "the step after a nop has no dependence: the runtime rejects the chain")
		}
	}
}

// chains follows what the runtime makes of consecutive reductions: one, with
// the sources of all, the destination of the first and the count of the last.
func (g *rank) chains(b *block) {
	for i := 0; i < len(b.steps); {
		end := i + 1
		for end < len(b.steps) && b.steps[i].reduction && b.steps[end].reduction && !b.steps[end-1].hasdep &&
			b.steps[end].depid == -1 &&
			b.steps[end].dstbuf == b.steps[i].dstbuf && b.steps[end].dst == b.steps[i].dst &&
			b.steps[end].srcbuf == b.steps[i].srcbuf {
			end++
		}
		if chain := b.steps[i:end]; len(chain) > 1 {
			if g.r.chain > 0 && len(chain) > g.r.chain {
				g.say(chain[0].line, "a chain of %d reductions", len(chain))
			}
			for k := range chain {
				if chain[k].count != chain[0].count {
					g.say(chain[k].line, "a chain of reductions with counts %d and %d", chain[0].count, chain[k].count)
				}
				if src, dst := g.address(chain[k].srcbuf, chain[k].src),
					g.address(chain[k].dstbuf, chain[k].dst); max(src-dst, dst-src) < chain[k].count {
					g.say(chain[k].line, "a chain of reductions reads what it writes")
				}
			}
		}
		i = end
	}
}

// address numbers a rank's chunks so that equal ones are one memory.
func (g *rank) address(buf string, at int) int {
	const far = 1 << 24
	switch {
	case buf == "s":
		return 2*far + at
	case !g.inplace:
		if buf == "o" {
			return far + at
		}
		return at
	case g.coll == "allgather" && buf == "i":
		return at + g.id*(g.divisor/max(g.ranks, 1))
	case (g.coll == "reduce_scatter" || g.coll == "reducescatter") && buf == "o":
		return at + g.id*(g.divisor/max(g.ranks, 1))
	}
	return at
}

// connections checks how many blocks of a rank share a channel, a way.
func (g *rank) connections(line int, blocks []*block) {
	sends, recvs := map[int]int{}, map[int]int{}
	for _, b := range blocks {
		if b.send >= 0 {
			sends[b.channel]++
		}
		if b.recv >= 0 {
			recvs[b.channel]++
		}
		if sends[b.channel] > maxPeers || recvs[b.channel] > maxPeers {
			g.say(line, "channel %d of rank %d has more than %d peers one way", b.channel, g.id, maxPeers)
			return
		}
	}
}

// flags checks that whatever is waited for exists and is published.
func (g *rank) flags(blocks []*block) {
	for _, b := range blocks {
		for i := range b.steps {
			s := &b.steps[i]
			if s.depid == -1 {
				continue
			}
			g.within(s.line, "depid", s.depid, 0, min(len(blocks)-1, g.r.depid))
			if s.depid < 0 || s.depid >= len(blocks) {
				continue
			}
			steps := blocks[s.depid].steps
			switch {
			case s.deps < 0 || s.deps >= len(steps):
				g.say(s.line, "step %d of block %d does not exist", s.deps, s.depid)
			case !steps[s.deps].hasdep || steps[s.deps].carries:
				g.say(s.line, "step %d of block %d publishes nothing", s.deps, s.depid)
			}
		}
	}
}

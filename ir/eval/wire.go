package eval

import (
	"mscclc/ir"
	"mscclc/ir/fifo"
)

// This file says how the steps of a Program hang together: which send meets
// which receive, and which step ends a wait. It relies on tables that are well
// formed, as ir/verify checks them.

// A Mismatch is a transfer whose ends do not fit: step Send or Recv is -1
// where the connection has no more of them.
type Mismatch struct{ Send, Recv int32 }

// A Wiring joins the steps of a program, which are numbered as in its Steps.
type Wiring struct {
	Block []int32 // by step: its block, as an index in Blocks
	Mate  []int32 // of a step that receives: the step that sends what it receives; else -1

	conn      []int32 // by block: the number of the block that sends what it receives, or -1
	publisher []int32 // by step: the one that satisfies a wait for it, or -1

	// Mismatches are the first transfer of each connection that does not fit.
	Mismatches []Mismatch
}

// Wire finds the mates of p's steps: the n-th send of a connection meets its
// n-th receive.
func Wire(p *fifo.Program) *Wiring {
	w := &Wiring{Block: make([]int32, len(p.Steps)), Mate: make([]int32, len(p.Steps)), conn: make([]int32, len(p.Blocks)),
		publisher: publishers(p)}
	for i := range w.Mate {
		w.Mate[i] = -1
	}
	type end struct{ channel, src, dst int32 }
	receiver := make(map[end]int32, len(p.Blocks))
	for b := range p.Blocks {
		t := &p.Blocks[b]
		w.conn[b] = -1
		for i := t.Steps.First; i < t.Steps.End; i++ {
			w.Block[i] = int32(b)
		}
		if t.RecvPeer >= 0 {
			receiver[end{t.Channel, t.RecvPeer, t.Rank}] = int32(b)
		}
	}
	matched := make([]bool, len(p.Blocks))
	for b := range p.Blocks {
		t := &p.Blocks[b]
		if t.SendPeer < 0 {
			continue
		}
		to, ok := receiver[end{t.Channel, t.Rank, t.SendPeer}]
		if !ok {
			to = -1
		} else {
			w.conn[to], matched[to] = int32(b), true
		}
		w.match(p, int32(b), to)
	}
	for b := range p.Blocks {
		if p.Blocks[b].RecvPeer >= 0 && !matched[b] {
			w.match(p, -1, int32(b))
		}
	}
	return w
}

// match joins the sends of block from and the receives of block to, up to the
// first that do not fit.
func (w *Wiring) match(p *fifo.Program, from, to int32) {
	send, recv := int32(-1), int32(-1)
	for {
		send = nextStep(p, from, send, func(o *ir.OpInfo) bool { return o.Sends })
		recv = nextStep(p, to, recv, func(o *ir.OpInfo) bool { return o.Receives })
		if send < 0 && recv < 0 {
			return
		}
		if send < 0 || recv < 0 || p.Steps[send].Count != p.Steps[recv].Count {
			w.Mismatches = append(w.Mismatches, Mismatch{send, recv})
			return
		}
		w.Mate[recv] = send
	}
}

// nextStep returns the step of block after at that has a property, or -1.
func nextStep(p *fifo.Program, block, at int32, has func(*ir.OpInfo) bool) int32 {
	if block < 0 {
		return -1
	}
	steps := p.Blocks[block].Steps
	if at < 0 {
		at = steps.First - 1
	}
	for at++; at < steps.End; at++ {
		if has(p.Steps[at].Op.Info()) {
			return at
		}
	}
	return -1
}

// publishers returns, for each step, the step of its block whose end satisfies
// a wait for it: the first from there on that others wait for, since flags only
// grow; or -1. A nop is run with the step after it and publishes nothing.
func publishers(p *fifo.Program) []int32 {
	list := make([]int32, len(p.Steps))
	for b := range p.Blocks {
		steps, found := p.Blocks[b].Steps, int32(-1)
		for i := steps.End - 1; i >= steps.First; i-- {
			if s := &p.Steps[i]; s.Flags&ir.HasDep != 0 && s.Op != ir.Nop {
				found = i
			}
			list[i] = found
		}
	}
	return list
}

// Awaited returns the step whose end satisfies what step i, of a block of
// rank, waits for; or -1, where it waits for nothing or for what no step does.
func (w *Wiring) Awaited(p *fifo.Program, rank int32, i int32) int32 {
	s := &p.Steps[i]
	if s.DepBlock < 0 {
		return -1
	}
	return w.publisher[p.TBsOf(int(rank))[s.DepBlock].Steps.First+s.DepStep]
}

// Schedule makes the schedule of p, with a number of slots per connection and of
// chunks per message. A wait that no step satisfies is left out.
func (w *Wiring) Schedule(p *fifo.Program, slots, chunks int) *ir.Schedule {
	n := len(p.Steps)
	s := &ir.Schedule{Start: make([]int32, 1, len(p.Blocks)+1), Send: make([]int32, n), Recv: make([]int32, n),
		Messages: make([]int32, n), Conns: len(p.Blocks), Slots: slots}
	s.Waits.Start = make([]int32, 1, n+1)
	for b := range p.Blocks {
		t := &p.Blocks[b]
		for i := t.Steps.First; i < t.Steps.End; i++ {
			step := &p.Steps[i]
			info := step.Op.Info()
			s.Send[i], s.Recv[i], s.Messages[i] = -1, -1, int32((int(step.Count)+chunks-1)/chunks)
			if info.Sends {
				s.Send[i] = int32(b)
			}
			if info.Receives {
				s.Recv[i] = w.conn[b]
			}
			if on := w.Awaited(p, t.Rank, i); on >= 0 {
				s.Waits.To = append(s.Waits.To, on)
			}
			s.Waits.Start = append(s.Waits.Start, int32(len(s.Waits.To)))
		}
		s.Start = append(s.Start, t.Steps.End)
	}
	return s
}

// Exec runs the steps of p on m in an order in which they may end. The action
// that m knows a step by is its number.
func (w *Wiring) Exec(p *fifo.Program, m *Machine, order []int32) {
	sent := make([]message, len(p.Steps))
	for _, i := range order {
		s := &p.Steps[i]
		if s.Op == ir.Nop {
			continue
		}
		info := s.Op.Info()
		a := Action{Op: s.Op, SrcBuf: s.SrcBuf, DstBuf: s.DstBuf, Rank: p.Blocks[w.Block[i]].Rank, Src: s.Src, Dst: s.Dst,
			Count: s.Count, Class: s.Class}
		var in []Run
		if info.Receives {
			in = m.pool.take(sent[w.Mate[i]])
		}
		if out := m.Exec(i, &a, in); info.Sends {
			sent[i] = m.pool.put(out)
		}
	}
}

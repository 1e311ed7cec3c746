package onesided

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
	"mscclc/ir/verify/checker"
)

// matching checks what steps of several blocks have in common: who writes and
// who reads each chunk of packets, who signals and who awaits each flag.
func (o *prover) matching() bool {
	if o.written(); len(o.List) == 0 {
		o.read()
	}
	o.flags()
	return len(o.List) == 0
}

// A part is a chunk of what a step moves, counted within its operands.
type part struct{ step, k int32 }

// eachPacket calls f for the chunks of packets among operands of s.
func (o *prover) eachPacket(s *ir.Step, operands []onesided.Operand, f func(chunk, k int32)) {
	for _, x := range operands {
		if x.Buf == ir.Packets {
			at := o.links.Packet(x.Rank, x.Index)
			for k := range s.Count {
				f(at+k, k)
			}
		}
	}
}

// written finds the part that is sent as each chunk of packets, and checks
// that it is one.
func (o *prover) written() {
	o.sender = make([]part, len(o.links.Writer))
	for k := range o.sender {
		o.sender[k].step = -1
	}
	for i := range o.P.Steps {
		s, other := &o.P.Steps[i], int32(-1)
		o.eachPacket(s, o.P.Dests(s), func(chunk, k int32) {
			if by := o.sender[chunk].step; by >= 0 {
				other = by
			}
			o.sender[chunk] = part{int32(i), k}
		})
		if other >= 0 {
			d := o.Step(int32(i), diag.Malformed, "%s writes a chunk of packets that %s writes", o.Name(int32(i)), o.Name(other))
			o.Note(d, other, "it is written here")
		}
	}
}

// read finds the parts that read each chunk of packets, and checks that all
// that is written is read, and the reverse, by one block.
func (o *prover) read() {
	o.readers.start = make([]int32, len(o.sender)+1)
	for i := range o.P.Steps {
		s := &o.P.Steps[i]
		o.eachPacket(s, o.P.Sources(s), func(chunk, _ int32) { o.readers.start[chunk+1]++ })
	}
	for k := range o.sender {
		o.readers.start[k+1] += o.readers.start[k]
	}
	next := append([]int32(nil), o.readers.start...)
	o.readers.to = make([]part, next[len(o.sender)])
	for i := range o.P.Steps {
		s, other, empty := &o.P.Steps[i], int32(-1), int32(-1)
		o.eachPacket(s, o.P.Sources(s), func(chunk, k int32) {
			o.readers.to[next[chunk]] = part{int32(i), k}
			next[chunk]++
			if first := o.readers.of(chunk)[0].step; o.links.Block[first] != o.links.Block[i] {
				other = first
			}
			if o.sender[chunk].step < 0 {
				empty = chunk
			}
		})
		if other >= 0 {
			d := o.Step(int32(i), diag.Malformed, "%s reads a chunk of packets that another block reads", o.Name(int32(i)))
			o.Note(d, other, "%s reads it", o.Name(other))
		}
		if empty >= 0 {
			o.Step(int32(i), diag.Unmatched, "%s waits for %s, which nothing sends", o.Name(int32(i)),
				o.P.ChunkName(ir.Packets, int(o.packetIndex(int32(i), empty))))
		}
	}
	o.unread()
}

// packetIndex returns the index of a chunk of packets of the rank of step i.
func (o *prover) packetIndex(i, chunk int32) int32 {
	return chunk - o.links.Packet(o.P.Blocks[o.links.Block[i]].Rank, 0)
}

// unread reports the steps that send what nothing reads.
func (o *prover) unread() {
	for i := range o.P.Steps {
		s, lost := &o.P.Steps[i], false
		o.eachPacket(s, o.P.Dests(s), func(chunk, _ int32) { lost = lost || len(o.readers.of(chunk)) == 0 })
		if lost {
			o.Step(int32(i), diag.Unmatched, "%s sends packets that their rank does not read in the pass", o.Name(int32(i)))
		}
	}
}

// parts are a list of parts for each of many things, one after the other.
type parts struct {
	start []int32
	to    []part
}

func (p *parts) of(i int32) []part { return p.to[p.start[i]:p.start[i+1]] }

// A flagUse is who has to do with a flag.
type flagUse struct {
	signal, await int32 // the first step that signals it and that awaits it, or -1
	enters        int32 // signals in the first pass of a launch
	leaves        bool  // a signal in the last pass of one was seen
}

// flags checks that what is awaited comes. That one block signals and one awaits each flag, ir/form has checked.
func (o *prover) flags() {
	o.use = make([]flagUse, len(o.links.Signals.Start)-1)
	for f := range o.use {
		o.use[f] = flagUse{signal: -1, await: -1}
	}
	for _, op := range []ir.Op{ir.Signal, ir.Await} {
		for i := range o.P.Steps {
			if s := &o.P.Steps[i]; s.Op == op {
				for _, x := range o.P.OperandsOf(s) {
					o.flagStep(int32(i), s, &x, &o.use[o.links.Flag(x.Rank, x.Index)])
				}
			}
		}
	}
}

// flagStep looks at one flag of step i, which is s: of signals first.
func (o *prover) flagStep(i int32, s *ir.Step, x *onesided.Operand, use *flagUse) {
	mine := &use.signal
	if s.Op == ir.Await {
		mine = &use.await
	}
	if *mine < 0 {
		*mine = i
	}
	switch {
	case use.signal < 0:
		o.Step(i, diag.Unmatched, "%s awaits flags[%d] of rank %d, which nothing signals", o.Name(i), x.Index, x.Rank)
	case s.Op == ir.Await:
		o.awaited(i, s, x, use)
	case s.Flags&ir.Leave != 0:
		use.leaves = true
	case use.leaves:
		o.Step(i, diag.Malformed,
			"%s signals flags[%d] of rank %d when a launch begins, and a step before it does when one ends", o.Name(i),
			x.Index, x.Rank)
	default:
		use.enters++
	}
}

// awaited checks how often step i, which is s, waits for a flag.
func (o *prover) awaited(i int32, s *ir.Step, x *onesided.Operand, use *flagUse) {
	n := int32(len(o.links.Signals.Of(int(o.links.Flag(x.Rank, x.Index)))))
	once := "pass"
	if s.Flags&(ir.Enter|ir.Leave) != 0 {
		once = "launch"
	}
	switch {
	case x.Nth > n:
		d := o.Step(i, diag.Deadlock, "%s waits for signal %d of flags[%d] in each %s, which has %d", o.Name(i), x.Nth,
			x.Index, once, n)
		o.Counterexample(d, checker.Counterexample{Step: i, With: -1, Waits: []ir.Wait{{Step: i, On: -1, At: -1}}})
	case s.Flags&ir.Enter != 0 && x.Nth > use.enters:
		o.Step(i, diag.Malformed, "%s waits when a launch begins for signal %d of flags[%d], which comes when it ends",
			o.Name(i), x.Nth, x.Index)
	}
}

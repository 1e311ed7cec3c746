package executor

import (
	"fmt"
	"slices"
	"time"

	"mscclc/executor/abi"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// Timeout says what the step that ran out of time waited for. Numbers are those
// of the launch: message 1 is its first.
func (c *Checked) Timeout(p *abi.Params, stop *Stop) error {
	s := &stop.Status
	b := &c.Image.Blocks[s.Block]
	prog := c.Image.Program
	index := int(b.FirstStep + s.Step)
	step := &prog.Steps[index]
	block := int(s.Block - b.FirstBlock)
	where := fmt.Sprintf("rank %d block %d step %d (%s)", b.Rank, block, s.Step, step.Op)
	waited := time.Duration(s.WaitedNS).Round(time.Millisecond)
	text := fmt.Sprintf("%s: waited %v for %s", where, waited, c.awaited(p, stop, b, &c.Image.Steps[index]))
	if tile := s.Tile - stop.Before.Tiles; tile > 0 {
		text += fmt.Sprintf(" (tile %d)", tile)
	}
	d := diag.New(diag.Timeout, prog.Span(step.Pos), "%s", text)
	d.Rank, d.Block, d.Step = int(b.Rank), block, int(s.Step)
	return diag.List{d}
}

// awaited names what was waited for, and what was there.
func (c *Checked) awaited(p *abi.Params, stop *Stop, b *abi.Block, step *abi.Step) string {
	s := &stop.Status
	switch s.What {
	case abi.WaitFlag:
		other := &c.Image.Blocks[b.FirstBlock+uint32(step.DepBlock)]
		have := "nothing"
		if first := stop.Before.Tiles * uint64(other.Steps); s.Have > first {
			at := s.Have - 1 - first
			have = fmt.Sprintf("step %d", at%uint64(other.Steps))
			if tile := at / uint64(other.Steps); tile != s.Tile-stop.Before.Tiles {
				have += fmt.Sprintf(" of tile %d", tile)
			}
		}
		return fmt.Sprintf("the flag of block %d step %d, have %s", step.DepBlock, step.DepStep, have)
	case abi.WaitSlot:
		sent := s.Want + uint64(p.Slots) - stop.Before.Sent
		return fmt.Sprintf("a free slot for message %d of connection %s, have %d received of %d slots",
			sent, c.Image.Conns[b.Send], s.Have-stop.Before.Sent, p.Slots)
	case abi.WaitMessage:
		return fmt.Sprintf("message %d of connection %s, have %d", s.Want-stop.Before.Received, c.Image.Conns[b.Recv],
			s.Have-stop.Before.Received)
	case abi.WaitPacket:
		have := "nothing"
		since := func(n uint64) uint64 {
			n -= stop.Before.Received
			return n & (1<<ir.Protocol(p.Proto).Row().FlagBits - 1) // a packet carries FlagBits bits of it
		}
		if n := since(s.Have); n > 0 && n < since(s.Want) {
			have = fmt.Sprintf("message %d", n)
		}
		return fmt.Sprintf("message %d of connection %s, its slot has %s", since(s.Want), c.Image.Conns[b.Recv], have)
	}
	return "what it does not say"
}

// TimeoutOne says what the step of a one-sided program that ran out of time waited for. Passes and
// signals are those of the launch.
func (c *Checked) TimeoutOne(p *abi.OneParams, stop *Stop) error {
	s := &stop.Status
	one, prog := c.Image.One, c.Image.Program
	b := &one.Blocks[s.Block]
	text := fmt.Sprintf("%s: waited %v for %s", prog.StepName(int32(b.FirstStep+s.Step)),
		time.Duration(s.WaitedNS).Round(time.Millisecond), c.awaitedOne(stop, b))
	if pass := s.Tile - stop.One.Passes; pass > 0 {
		text += fmt.Sprintf(" (pass %d)", pass)
	}
	if p.Replicas > 1 {
		text += fmt.Sprintf(" (replica %d)", s.Replica)
	}
	d := diag.New(diag.Timeout, prog.Span(placeOne(prog, b, int(s.Step))), "%s", text)
	d.Rank, d.Block, d.Step = prog.SourcePlace(int32(b.FirstStep + s.Step))
	return diag.List{d}
}

// placeOne returns where a step comes from; of one that the compiler inserted, the step after it
// that has a place, or else the last before it.
func placeOne(p *either.Program, b *abi.OneBlock, step int) int32 {
	steps := p.Steps[b.FirstStep : b.FirstStep+b.Steps]
	for _, s := range steps[step:] {
		if s.Pos >= 0 {
			return s.Pos
		}
	}
	for i := step - 1; i >= 0; i-- {
		if steps[i].Pos >= 0 {
			return steps[i].Pos
		}
	}
	return -1
}

// awaitedOne names what was waited for, and what was there.
func (c *Checked) awaitedOne(stop *Stop, b *abi.OneBlock) string {
	s, one := &stop.Status, c.Image.One
	if s.What == abi.WaitMeet {
		other := &one.Blocks[s.Operand]
		return fmt.Sprintf("block %d of rank %d, with which it is to begin the packets' flags anew",
			int(s.Operand)-int(c.Image.Program.Rank[other.Rank].First), other.Rank)
	}
	step := &one.Steps[b.FirstStep+s.Step]
	o := &one.Operands[b.FirstOperand+step.First+s.Operand]
	if s.What == abi.WaitNet {
		return fmt.Sprintf("the network to take an earlier signal, to tell flag %d of rank %d", o.Index, o.Rank)
	}
	if s.What == abi.WaitPort {
		return fmt.Sprintf("the port to copy to rank %d's %v from %d on", o.Rank, ir.Buf(o.Buf), o.Index)
	}
	by := c.writerOne(o, uint32(step.Count))
	if s.What == abi.WaitPacket {
		have := "older ones"
		if s.Have == 0 {
			have = "none"
		}
		return fmt.Sprintf("packets %d of rank %d%s, which have %s", o.Index, o.Rank, by, have)
	}
	before := stop.One.Passes
	if ir.StepFlags(step.Flags)&(ir.Enter|ir.Leave) != 0 {
		before = stop.One.Launches
	}
	before *= uint64(o.B)
	if source, ok := c.Image.Program.Source.(ir.FlagSource); ok {
		what, of := source.Flag(int32(o.Rank), int32(o.Index))
		return fmt.Sprintf("%s %d %s, have %d", what, int64(s.Want-before), of, int64(s.Have-before))
	}
	return fmt.Sprintf("signal %d of flag %d of rank %d%s, have %d", int64(s.Want-before), o.Index, o.Rank, by,
		int64(s.Have-before))
}

// writerOne names the first step that signals a flag, or sends one of `count` chunks of
// packets, of a rank.
func (c *Checked) writerOne(o *abi.OneOperand, count uint32) string {
	one := c.Image.One
	for i := range one.Blocks {
		b := &one.Blocks[i]
		for k, s := range one.Steps[b.FirstStep : b.FirstStep+b.Steps] {
			dst := one.Operands[b.FirstOperand+s.First+uint32(s.Srcs):][:s.Dsts]
			meets := func(d abi.OneOperand) bool {
				return d.Buf == o.Buf && (d.Rank == o.Rank || d.Rank < 0) && d.Index <= o.Index+max(count, 1)-1 &&
					o.Index <= d.Index+max(uint32(s.Count), 1)-1
			}
			if slices.ContainsFunc(dst, meets) {
				if p := c.Image.Program; p.Source != nil {
					return " from " + p.StepName(int32(b.FirstStep)+int32(k))
				}
				return fmt.Sprintf(" from rank %d block %d step %d", b.Rank, int(b.Number)-int(c.Image.Program.Rank[b.Rank].First), k)
			}
		}
	}
	return ""
}

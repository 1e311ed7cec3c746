package executor

import (
	"fmt"
	"time"

	"mscclc/executor/abi"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// timeout says what the step that ran out of time waited for. Numbers are those
// of the launch: message 1 is its first.
func (l *Loaded) timeout(p *abi.Params, stop *Stop) error {
	s := &stop.Status
	b := &l.img.Blocks[s.Block]
	prog := l.img.Program
	index := int(b.FirstStep + s.Step)
	step := &prog.Steps[index]
	block := int(s.Block - b.FirstBlock)
	where := fmt.Sprintf("rank %d block %d step %d (%s)", b.Rank, block, s.Step, step.Op)
	waited := time.Duration(s.WaitedNS).Round(time.Millisecond)
	text := fmt.Sprintf("%s: waited %v for %s", where, waited, l.awaited(p, stop, b, &l.img.Steps[index]))
	if tile := s.Tile - stop.Before.Tiles; tile > 0 {
		text += fmt.Sprintf(" (tile %d)", tile)
	}
	d := diag.New(diag.Timeout, prog.Span(step.Pos), "%s", text)
	d.Rank, d.Block, d.Step = int(b.Rank), block, int(s.Step)
	return diag.List{d}
}

// awaited names what was waited for, and what was there.
func (l *Loaded) awaited(p *abi.Params, stop *Stop, b *abi.Block, step *abi.Step) string {
	s := &stop.Status
	switch s.What {
	case abi.WaitFlag:
		other := &l.img.Blocks[b.FirstBlock+uint32(step.DepBlock)]
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
			sent, l.img.Conns[b.Send], s.Have-stop.Before.Sent, p.Slots)
	case abi.WaitMessage:
		return fmt.Sprintf("message %d of connection %s, have %d", s.Want-stop.Before.Received, l.img.Conns[b.Recv],
			s.Have-stop.Before.Received)
	case abi.WaitPacket:
		have := "nothing"
		since := func(n uint64) uint64 {
			if ir.Protocol(p.Proto) != ir.LL128 {
				return uint64(uint32(n - stop.Before.Received)) // packets carry 32 bits of it
			}
			return n - stop.Before.Received
		}
		if n := since(s.Have); n > 0 && n < since(s.Want) {
			have = fmt.Sprintf("message %d", n)
		}
		return fmt.Sprintf("message %d of connection %s, its slot has %s", since(s.Want), l.img.Conns[b.Recv], have)
	}
	return "what it does not say"
}

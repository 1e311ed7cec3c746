package explore

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/fifo"
)

// A Senseless error says that a program has no meaning: what it does cannot be
// said, let alone explored.
type Senseless struct{ Text string }

func (e *Senseless) Error() string { return "no program: " + e.Text }

// runnable checks what the explorer relies on, beyond tables that cover each
// other: that operands and waits exist, and one block an end.
func runnable(p *fifo.Program) error {
	type end struct {
		rank, peer, channel int32
		sends               bool
	}
	owned := map[end]bool{}
	for b := range p.Blocks {
		t := &p.Blocks[b]
		for _, e := range []end{{t.Rank, t.SendPeer, t.Channel, true}, {t.Rank, t.RecvPeer, t.Channel, false}} {
			if e.peer >= 0 && (owned[e] || int(e.peer) >= p.Coll.Ranks || e.peer == t.Rank) {
				return &Senseless{fmt.Sprintf("block %d has an end that is another's or nobody's", b)}
			}
			owned[e] = true
		}
		for i := t.Steps.First; i < t.Steps.End; i++ {
			if text := senseless(p, t, &p.Steps[i]); text != "" {
				return &Senseless{fmt.Sprintf("step %d %s", i, text)}
			}
		}
	}
	return nil
}

func senseless(p *fifo.Program, t *ir.TB, s *ir.Step) string {
	if s.DepBlock >= 0 {
		tbs := p.TBsOf(int(t.Rank))
		if int(s.DepBlock) >= len(tbs) || s.DepStep < 0 ||
			s.DepStep >= tbs[s.DepBlock].Steps.End-tbs[s.DepBlock].Steps.First {
			return "waits for a step that does not exist"
		}
	}
	if s.Op == ir.Nop {
		return ""
	}
	outside := func(buf ir.Buf, index int32) bool {
		var size int
		switch buf {
		case ir.Input:
			size = p.Coll.InChunks(int(t.Rank))
		case ir.Output:
			size = p.Coll.OutChunks(int(t.Rank))
		case ir.Scratch:
			if p.Scratch != nil {
				size = int(p.Scratch[t.Rank])
			}
		}
		return index < 0 || int(index)+int(s.Count) > size
	}
	op := s.Op.Info()
	switch {
	case s.Count < 1:
		return "moves nothing"
	case op.Sends && t.SendPeer < 0 || op.Receives && t.RecvPeer < 0:
		return "has no peer"
	case op.ReadsSrc && outside(s.SrcBuf, s.Src) || (op.ReadsDst || op.Writes) && outside(s.DstBuf, s.Dst):
		return "has an operand outside its buffer"
	}
	return ""
}

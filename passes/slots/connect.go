package slots

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// A conn is a connection as it runs. Message j of a tile iteration, from 0, lies in slot j mod slots.
type conn struct {
	channel, src, dst int32
	messages          int32 // that a tile iteration sends
	slots             int32 // in each copy of scratch
	length            int32 // of a slot, in chunks: that of the longest message
	first             int32 // chunk of the scratch of dst
	data, free        int32 // flags: of dst, signalled with each message, and of src, signalled when it was read
}

// connect finds the connections of the program, and gives them slots and flags.
func connect(s *State) error {
	if len(s.w.Mismatches) > 0 {
		switch m := s.w.Mismatches[0]; {
		case m.Send < 0:
			return s.problem(m.Recv, diag.Unmatched, "receives a message that nobody sends")
		case m.Recv < 0:
			return s.problem(m.Send, diag.Unmatched, "sends a message that nobody receives")
		default:
			return s.problem(m.Send, diag.Unmatched, "sends %d chunks, and %s receives %d", s.p.Steps[m.Send].Count,
				s.p.StepName(m.Recv), s.p.Steps[m.Recv].Count)
		}
	}
	s.in, s.out = make([]int32, len(s.p.Blocks)), make([]int32, len(s.p.Blocks))
	of := map[[3]int32]int32{} // by channel, sender and receiver
	for b := range s.p.Blocks {
		s.in[b], s.out[b] = -1, -1
		if t := &s.p.Blocks[b]; t.SendPeer >= 0 {
			if c := s.conn(t); c.messages > 0 {
				of[[3]int32{c.channel, c.src, c.dst}] = int32(len(s.conns))
				s.out[b] = int32(len(s.conns))
				s.conns = append(s.conns, c)
			}
		}
	}
	for b := range s.p.Blocks {
		t := &s.p.Blocks[b]
		if k, ok := of[[3]int32{t.Channel, t.RecvPeer, t.Rank}]; ok {
			s.in[b] = k
		}
	}
	return s.room()
}

// conn returns the connection that block t sends to.
func (s *State) conn(t *ir.TB) conn {
	c := conn{channel: t.Channel, src: t.Rank, dst: t.SendPeer}
	for _, step := range s.p.StepsOf(t) {
		if step.Op.Info().Sends {
			c.messages++
			c.length = max(c.length, step.Count)
		}
	}
	c.slots = min(s.slots, c.messages)
	return c
}

// room gives the connections their slots, after the scratch of the program, and their flags.
func (s *State) room() error {
	for k := range s.conns {
		c := &s.conns[k]
		if need := int64(s.scratch[c.dst]) + int64(c.slots)*int64(c.length); need > ir.MostCells {
			return diag.List{diag.New(diag.Limit, s.p.Declaration,
				"rank %d needs more than %d chunks of scratch for the slots of its connections", c.dst, ir.MostCells)}
		}
		c.first = s.scratch[c.dst]
		s.scratch[c.dst] += c.slots * c.length
		c.data, c.free = s.newFlag(c.dst), s.newFlag(c.src)
	}
	return nil
}

// slot returns the chunk of scratch where message j of a tile iteration begins.
func (c *conn) slot(j int32) int32 { return c.first + j%c.slots*c.length }

// credit returns which credit the sender of message j waits for, counted from 1 in its tile iteration: the message that
// was in the slot before, of this tile iteration or of the last that used the same copy of scratch.
func (c *conn) credit(j, depth int32) int32 {
	if j >= c.slots {
		return j - c.slots + 1
	}
	last := j + (c.messages-1-j)/c.slots*c.slots
	return last + 1 - depth*c.messages
}

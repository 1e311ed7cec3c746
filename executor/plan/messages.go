package plan

import (
	"math"
	"time"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/ir"
	"mscclc/transport"
)

// mostNotes is how many messages a trace has at most in a process: the first ones.
const mostNotes = 1 << 16

// listen has the network note the messages of the call from now on, or nothing more.
func (c *Call) listen(most int) error {
	if c.trace == nil || c.plan.net == nil || c.plan.net.job == nil {
		return nil
	}
	c.launches = map[executor.GPU]int64{}
	return c.plan.net.job.Note(most)
}

// counted notes a launch of a traced call on a GPU.
func (c *Call) counted(g executor.GPU) {
	if c.launches != nil {
		c.plan.mu.Lock()
		defer c.plan.mu.Unlock()
		c.launches[g]++
	}
}

// A place is a replica's step in a pass.
type place struct {
	step, replica int32
	pass          int64
}

// lastNotes is how long TakeTrace waits for messages that come after a launch's end: credits, and what peers send whose
// launches go on.
const lastNotes = 5 * time.Second

// messages returns what the network has noted of the last launch, with the times of spans of the same ranks.
func (c *Call) messages() []executor.Message {
	if c.plan.net == nil || c.plan.net.job == nil {
		return nil
	}
	m := matcher{call: c, img: c.plan.checked.Image, signals: map[signal]carried{}, awaits: map[raised]int32{},
		ends: map[place]time.Duration{}, shift: map[*seat]*shift{}}
	for _, n := range c.launches {
		m.launches = max(m.launches, n)
	}
	m.expect()
	notes := c.plan.net.job.Noted()
	for limit := time.Now().Add(lastNotes); !m.whole(notes) && time.Now().Before(limit) && c.plan.Err() == nil; {
		time.Sleep(time.Millisecond)
		notes = c.plan.net.job.Noted()
	}
	for i := range c.trace.Spans {
		s := &c.trace.Spans[i]
		m.ends[place{s.Step, s.Replica, s.Pass}] = s.Begin + s.Length
	}
	list := m.match(notes)
	kept := list[:0]
	for _, x := range list {
		if by := m.shift[c.plan.of[int(x.Rank)]]; by.known() {
			x.Begin += by.least()
			kept = append(kept, x)
		}
	}
	return kept
}

// A matcher finds the steps that messages belong to.
type matcher struct {
	call     *Call
	img      *abi.Image
	launches int64                   // that the notes are of, at least
	signals  map[signal]carried      // all that ranks of this process send or receive
	awaits   map[raised]int32        // the step that awaits it in the same pass
	ends     map[place]time.Duration // of spans
	shift    map[*seat]*shift
}

// A signal is a destination of a Signal, as in abi.NetMessage. It is carried once in each pass, or launch.
type (
	signal  struct{ block, operand uint32 }
	carried struct {
		step   int32
		passes int64
		raised
	}
)

// A raised is the nth signal of a flag in a pass, from 1 on.
type raised struct{ rank, flag, nth int32 }

// expect lists the signals of a launch between this process and other nodes, and the Awaits of this process.
func (m *matcher) expect() {
	p, one := m.call.plan, m.img.One
	for b := range one.Blocks {
		from := &one.Blocks[b]
		for i := from.FirstStep; i < from.FirstStep+from.Steps; i++ {
			s, first := &m.img.Program.Steps[i], one.Steps[i].First
			rows := one.Operands[from.FirstOperand+first:]
			switch s.Op {
			case ir.Await:
				for k, x := range m.img.Program.OneSided.Sources(s) {
					m.awaits[raised{x.Rank, x.Index, rows[k].A}] = int32(i)
				}
			case ir.Signal:
				passes := int64(m.call.one.Passes)
				if s.Flags&(ir.Enter|ir.Leave) != 0 {
					passes = 1
				}
				for k, x := range m.img.Program.OneSided.Dests(s) {
					k := k + int(s.NSrc)
					ours := p.of[int(from.Rank)] != nil || p.of[int(x.Rank)] != nil
					if ours && p.nodes.of[x.Rank] != p.nodes.of[from.Rank] {
						m.signals[signal{uint32(b), first + uint32(k)}] = carried{int32(i), passes,
							raised{x.Rank, x.Index, rows[k].A}}
					}
				}
			}
		}
	}
}

// whole reports whether all messages of a launch are noted and over, or the most that there is room for.
func (m *matcher) whole(notes []transport.Note) bool {
	if len(notes) == mostNotes {
		return true
	}
	have := map[signal]int64{}
	for i := range notes {
		if notes[i].End > 0 {
			have[signal{notes[i].Block, notes[i].Operand}]++
		}
	}
	together := int64(m.call.replicas+transport.Together-1) / transport.Together
	for key, s := range m.signals {
		if have[key] < s.passes*together*m.launches {
			return false
		}
	}
	return true
}

// A shift is what is added to times of the proxy to have them on the clock of a GPU: from what nothing may be earlier,
// and later.
type shift struct{ from, to time.Duration }

func (s *shift) known() bool { return s != nil && (s.from > math.MinInt64 || s.to < math.MaxInt64) }

// least returns the shift by which messages are earliest. What only receives has its messages as late as may be.
func (s *shift) least() time.Duration {
	if s.from > math.MinInt64 {
		return s.from
	}
	return s.to
}

// match finds the step and the pass of each note. Of the notes of a signal, the last ones are of the last launch. Where
// there was no room for all notes, those are missing.
func (m *matcher) match(notes []transport.Note) (list []executor.Message) {
	if len(notes) == mostNotes && m.launches > 1 {
		return nil
	}
	type key struct {
		signal
		replica uint32
	}
	count, at := map[key]int64{}, map[key]int64{}
	keyOf := func(n *transport.Note) key { return key{signal{n.Block, n.Operand}, n.Replica} }
	for i := range notes {
		count[keyOf(&notes[i])]++
	}
	for i := range notes {
		n := &notes[i]
		k := keyOf(n)
		is := m.signals[k.signal]
		pass := at[k]
		if len(notes) < mostNotes {
			pass -= max(0, count[k]-is.passes)
		}
		at[k]++
		x := executor.Message{Rank: int32(n.Rank), Peer: int32(m.img.One.Blocks[n.Block].Rank), Step: is.step,
			Replica: int32(n.Replica), Replicas: int32(n.Replicas), Pass: pass, Received: n.Received, Bytes: int64(n.Bytes),
			Begin: time.Duration(n.Begin), Length: time.Duration(max(n.End, n.Begin) - n.Begin)}
		if !n.Received {
			x.Rank, x.Peer = x.Peer, x.Rank
		}
		if pass >= 0 && pass < m.call.trace.Passes {
			list = append(list, x)
			m.bound(&x, is.raised)
		}
	}
	return list
}

// bound says how early and how late a message may have been: a row is taken when its Signal has written it, and an
// Await ends when the count is stored.
func (m *matcher) bound(x *executor.Message, by raised) {
	seat := m.call.plan.of[int(x.Rank)]
	is := m.shift[seat]
	if is == nil {
		is = &shift{math.MinInt64, math.MaxInt64}
		m.shift[seat] = is
	}
	step, known := x.Step, true
	if x.Received {
		step, known = m.awaits[by]
	}
	for c := x.Replica; c < x.Replica+x.Replicas && known; c++ {
		switch end, ok := m.ends[place{step, c, x.Pass}]; {
		case !ok:
		case !x.Received:
			is.from = max(is.from, end-x.Begin)
		case x.Length > 0:
			is.to = min(is.to, end-(x.Begin+x.Length))
		}
	}
}

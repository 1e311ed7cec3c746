package executor

import (
	"math"
	"time"

	"mscclc/executor/abi"
	"mscclc/ir"
	"mscclc/transport"
)

// A Message is what the network carried between a rank of this process and one of another node: data, and the counts of
// a Signal for some replicas.
type Message struct {
	Rank, Peer      int32 // of this process, and at the other end
	Step            int32 // of Program.Steps: the Signal, of whichever of the two sends
	Column, Columns int32 // the first replica, and how many
	Pass            int64
	Received        bool
	Bytes           int64 // of data

	// When the proxy took what the Signal wrote, until all was sent; or when the message's beginning was here, until the
	// counts were stored. Times are of the clock of the rank's spans, by a guess: see TakeTrace. Length is 0 of a message
	// that was not over.
	Begin, Length time.Duration
}

// mostNotes is how many messages a trace has at most in a process: the first ones.
const mostNotes = 1 << 16

// listen has the network note the messages of the call from now on, or nothing more.
func (c *Call) listen(most int) error {
	if c.trace == nil || c.plan.net == nil {
		return nil
	}
	c.launches = map[GPU]int64{}
	return c.plan.net.job.Note(most)
}

// counted notes a launch of a traced call on a GPU.
func (c *Call) counted(g GPU) {
	if c.launches != nil {
		c.plan.mu.Lock()
		defer c.plan.mu.Unlock()
		c.launches[g]++
	}
}

// A place is a replica's step in a pass.
type place struct {
	step, column int32
	pass         int64
}

// lastNotes is how long TakeTrace waits for messages that are behind a launch's end: credits, and what peers send whose
// launches go on.
const lastNotes = 5 * time.Second

// messages are what the network has noted of the last launch, with the times of spans of the same ranks.
func (c *Call) messages() []Message {
	if c.plan.net == nil {
		return nil
	}
	m := matcher{call: c, img: c.plan.loaded.img, signals: map[signal]carried{}, ends: map[place]time.Duration{},
		shift: map[*seat]*shift{}}
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
		m.ends[place{s.Step, s.Column, s.Pass}] = s.Begin + s.Length
	}
	list := m.match(notes)
	for i := range list {
		m.bound(&list[i])
	}
	kept := list[:0]
	for _, x := range list {
		if by := m.shift[c.plan.of[int(x.Rank)]]; by.told() {
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
	ends     map[place]time.Duration // of spans
	shift    map[*seat]*shift
}

// A signal is a destination of a Signal, as in abi.NetMessage. It is carried once in each pass, or launch.
type (
	signal  struct{ block, operand uint32 }
	carried struct {
		step   int32
		passes int64
	}
)

// expect lists the signals of a launch.
func (m *matcher) expect() {
	for _, x := range m.call.plan.net.table.Messages {
		b := &m.img.One.Blocks[x.Block]
		if m.call.plan.of[int(b.Rank)] == nil && m.call.plan.of[int(x.Rank)] == nil {
			continue
		}
		for i := b.FirstStep; i < b.FirstStep+b.Steps; i++ {
			row := &m.img.One.Steps[i]
			if first := row.First + uint32(row.Srcs); x.Operand < first || x.Operand >= first+uint32(row.Dsts) {
				continue
			}
			passes := int64(m.call.one.Passes)
			if m.img.Program.Steps[i].Flags&(ir.Enter|ir.Leave) != 0 {
				passes = 1
			}
			m.signals[signal{x.Block, x.Operand}] = carried{int32(i), passes}
		}
	}
}

// whole says whether all messages of a launch are noted and over, or as many as there is room for.
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
	together := int64(m.call.columns+transport.Together-1) / transport.Together
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

func (s *shift) told() bool { return s != nil && (s.from > math.MinInt64 || s.to < math.MaxInt64) }

// least is the shift by which messages are earliest. What only receives has its messages as late as may be.
func (s *shift) least() time.Duration {
	if s.from > math.MinInt64 {
		return s.from
	}
	return s.to
}

// match finds the step and the pass of each note. Of the notes of a signal, the last ones are of the last launch. Where
// there was no room for all notes, those are missing.
func (m *matcher) match(notes []transport.Note) (list []Message) {
	if len(notes) == mostNotes && m.launches > 1 {
		return nil
	}
	type key struct {
		signal
		column uint32
	}
	count, at := map[key]int64{}, map[key]int64{}
	keyOf := func(n *transport.Note) key { return key{signal{n.Block, n.Operand}, n.Column} }
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
		x := Message{Rank: int32(n.Rank), Peer: int32(m.img.One.Blocks[n.Block].Rank), Step: is.step,
			Column: int32(n.Column), Columns: int32(n.Columns), Pass: pass, Received: n.Received, Bytes: int64(n.Bytes),
			Begin: time.Duration(n.Begin), Length: time.Duration(max(n.End, n.Begin) - n.Begin)}
		if !n.Received {
			x.Rank, x.Peer = x.Peer, x.Rank
		}
		if pass >= 0 && pass < m.call.trace.Passes {
			list = append(list, x)
		}
	}
	return list
}

// bound says how early and how late a message may have been: a row is taken when its Signal has written it, and an
// Await ends when the count is stored.
func (m *matcher) bound(x *Message) {
	s := m.call.plan.of[int(x.Rank)]
	by := m.shift[s]
	if by == nil {
		by = &shift{math.MinInt64, math.MaxInt64}
		m.shift[s] = by
	}
	if !x.Received {
		for c := x.Column; c < x.Column+x.Columns; c++ {
			if end, ok := m.ends[place{x.Step, c, x.Pass}]; ok {
				by.from = max(by.from, end-x.Begin)
			}
		}
		return
	}
	for c := x.Column; c < x.Column+x.Columns && x.Length > 0; c++ {
		if end, ok := m.awaited(x, c); ok {
			by.to = min(by.to, end-(x.Begin+x.Length))
		}
	}
}

// awaited is when the Await of a message's count ended in a replica.
func (m *matcher) awaited(x *Message, column int32) (time.Duration, bool) {
	p := m.img.Program
	for _, signal := range p.OneSided.Dests(&p.Steps[x.Step]) {
		if signal.Rank != x.Rank {
			continue
		}
		for b := p.Rank[x.Rank].First; b < p.Rank[x.Rank].End; b++ {
			steps := p.Blocks[b].Steps
			for i := steps.First; i < steps.End; i++ {
				if !m.awaits(&p.Steps[i], signal.Index) {
					continue
				}
				if end, ok := m.ends[place{i, column, x.Pass}]; ok {
					return end, true
				}
			}
		}
	}
	return 0, false
}

// awaits says whether a step awaits a signal of its own pass by a flag.
func (m *matcher) awaits(s *ir.Step, flag int32) bool {
	if s.Op != ir.Await {
		return false
	}
	for _, x := range m.img.Program.OneSided.Sources(s) {
		if x.Index == flag && x.Nth >= 1 {
			return true
		}
	}
	return false
}

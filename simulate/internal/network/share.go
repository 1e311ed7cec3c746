package network

import (
	"math"
	"slices"

	"mscclc/internal/heap"
	"mscclc/ir"
	"mscclc/simulate/internal/events"
)

// This file has messages between nodes share links. A message has a speed: the part of what it reaches alone that it
// has now. Where the messages on a link would occupy it for more than the whole time, all of them slow down alike, and
// what one of them leaves, since another link slows it more, the others have (max-min). Speeds are set anew when a
// message begins or ends (speeds.go). A lone message has speed 1.
//
// What blocks move within a node goes through a link first come, first served. Where messages are on the link too, all
// that blocks move there counts as one message more.

// Messages carries the messages of one-sided programs.
type Messages struct {
	net     *Network
	e       *events.Engine
	arrived Arrived

	streams []stream
	routes  []route
	known   map[int32]int32 // the route of a way
	dues    heap.Heap       // of routes: when a message has gone; entries that differ from the route's due are stale
	next    float64         // the first of them that is an event
	active  []int32         // routes with messages
	gone    []int32         // streams whose message has just gone
	count   []int32         // by link: messages on it
	watched []bool          // by link: an event waits for what blocks move on it
	speeds
}

// Arrived has a message for a rank arrive whose last byte has left at a time, over a way of a latency.
type Arrived func(rank int32, x *Message, left, latency float64)

// A stream is the messages of one block to one rank. They go one after the other, as their counts do
// (transport/PROXY.md).
type stream struct {
	rank, route int32
	waiting     []Message // the first is on its way, or the next to begin
	until       float64   // the route's clock when it has gone
}

// A Message is what a block has stored for a rank, in several pieces.
type Message struct {
	First, Last float64 // when the sender's proxy has the first piece ready, and the last
	Pieces      float64
	Bytes, More float64  // it occupies links for its bytes, and those between nodes for a time more
	Work        float64  // how long it takes alone
	Began       float64  // when it began, which Messages sets
	Flags       ir.Range // operands; those of the receiver are counts that go with it
}

// A route is a way and the messages on it, which have one speed.
type route struct {
	links       []int32
	narrow      []int32 // those that can be full before others of them are
	latency     float64
	on          []int32 // streams
	at          int     // of the active routes
	bytes, more float64 // of all messages on it, for each microsecond of their work
	speed       float64
	clock       float64 // how far a message has gone that has been on it from the begin, in microseconds of work
	since       float64 // when that was
	first       float64 // the clock when the first of its messages has gone
	due         float64 // when that will be
	settled     bool    // its speed is set
}

// Messages returns what carries messages over those of a program's ways that leave a node. Its events are e's, whose
// actor hands events after all blocks on to Act.
func (n *Network) Messages(e *events.Engine, ways []int32, arrived Arrived) *Messages {
	links := len(n.beta)
	n.messages = &Messages{net: n, e: e, arrived: arrived, known: map[int32]int32{}, next: math.Inf(1),
		count: make([]int32, links), watched: make([]bool, links), speeds: newSpeeds(links)}
	n.messages.connect(ways)
	return n.messages
}

// Events are that the next message of a stream begins, that messages have gone, that blocks may have moved all on a
// link, and that speeds are set, which comes after all other events of a time.
const (
	begins = iota
	ends
	frees
	kinds
)

func (m *Messages) schedule(kind int, of int32, at float64) { m.e.Schedule(int(of)*kinds+kind, at) }

// Act does an event.
func (m *Messages) Act(number int32, now float64) {
	switch of := number / kinds; {
	case number == m.e.Last():
		m.settle(now)
	case number%kinds == begins:
		m.begin(of, now)
	case number%kinds == ends:
		m.end(now)
	case number%kinds == frees:
		m.free(of, now)
	}
	for len(m.dues) > 0 && m.dues[0].At != m.routes[m.dues[0].Of].due {
		m.dues.Pop()
	}
	if len(m.dues) > 0 && m.dues[0].At < m.next {
		m.next = m.dues[0].At
		m.schedule(ends, 0, m.next)
	}
}

// connect makes the routes of ways that leave a node, among those of a program.
func (m *Messages) connect(ways []int32) {
	within := make([]bool, len(m.count)) // by link: blocks move on it
	for _, way := range ways {
		if !m.net.Leaves(way) {
			for _, l := range m.net.Ways[way] {
				within[l] = true
			}
		} else if _, ok := m.known[way]; !ok {
			m.known[way] = int32(len(m.routes))
			for _, l := range m.net.Ways[way] {
				m.through[l] = append(m.through[l], int32(len(m.routes)))
			}
			m.routes = append(m.routes, route{links: m.net.Ways[way], latency: m.net.Latency(way), first: math.Inf(1),
				due: math.Inf(1)})
		}
	}
	wide := make([]bool, len(m.count))
	for l := range m.through {
		wide[l] = !within[l] && m.hidden(int32(l))
	}
	for i := range m.routes {
		r := &m.routes[i]
		for _, l := range r.links {
			if !wide[l] {
				r.narrow = append(r.narrow, l)
			}
		}
	}
}

// hidden reports whether all paths of a link go through one that is full no later.
func (m *Messages) hidden(l int32) bool {
	routes := m.through[l]
	if len(routes) == 0 {
		return false
	}
	return slices.ContainsFunc(m.routes[routes[0]].links, func(k int32) bool {
		a, b := m.net.beta[l], m.net.beta[k]
		if k == l || a < b || a == b && l < k || m.net.far[l] && !m.net.far[k] {
			return false
		}
		return !slices.ContainsFunc(routes, func(r int32) bool { return !slices.Contains(m.routes[r].links, k) })
	})
}

// Stream makes a stream of messages to a rank, over a way.
func (m *Messages) Stream(rank, way int32) int32 {
	m.streams = append(m.streams, stream{rank: rank, route: m.known[way]})
	return int32(len(m.streams) - 1)
}

// To returns the rank that a stream is to.
func (m *Messages) To(stream int32) int32 { return m.streams[stream].rank }

// Send has a message of a stream go as soon as it is ready and those before it have gone.
func (m *Messages) Send(stream int32, x Message) {
	s := &m.streams[stream]
	s.waiting = append(s.waiting, x)
	if len(s.waiting) == 1 {
		m.schedule(begins, stream, x.First)
	}
}

func (m *Messages) begin(stream int32, now float64) {
	s := &m.streams[stream]
	r, x := &m.routes[s.route], &s.waiting[0]
	r.goOn(now)
	x.Began, s.until = now, r.clock+x.Work
	if r.first = min(r.first, s.until); len(r.on) == 0 {
		r.at, r.speed = len(m.active), 0
		m.active = append(m.active, s.route)
	}
	r.on = append(r.on, stream)
	m.change(s.route, x, 1)
	for _, l := range r.links {
		m.net.Busy[l] += m.net.occupied(l, x.Bytes, x.More)
	}
}

// end has messages that have gone arrive.
func (m *Messages) end(now float64) {
	if now == m.next {
		m.next = math.Inf(1)
	}
	for len(m.dues) > 0 && m.dues[0].At <= now+closeTo(now)/10 {
		id, due := m.dues[0].Of, m.dues[0].At
		m.dues.Pop()
		if r := &m.routes[id]; r.due == due { // else it was set anew
			m.leave(id, r, now)
		}
	}
}

// leave has those of a route's messages that have gone arrive.
func (m *Messages) leave(id int32, r *route, now float64) {
	r.goOn(now)
	on := r.on
	r.on, r.first, r.due, m.gone = r.on[:0], math.Inf(1), math.Inf(1), m.gone[:0]
	for _, i := range on {
		if s := &m.streams[i]; s.until > r.clock+closeTo(now) {
			r.on, r.first = append(r.on, i), min(r.first, s.until)
		} else {
			m.gone = append(m.gone, i)
		}
	}
	for _, i := range m.gone {
		s := &m.streams[i]
		m.change(id, &s.waiting[0], -1)
		m.arrived(s.rank, &s.waiting[0], now, r.latency)
		if s.waiting = slices.Delete(s.waiting, 0, 1); len(s.waiting) > 0 {
			m.schedule(begins, i, max(now, s.waiting[0].First))
		}
	}
	if len(r.on) == 0 {
		last := len(m.active) - 1
		m.active[r.at] = m.active[last]
		m.routes[m.active[r.at]].at = r.at
		m.active = m.active[:last]
	} else if len(m.gone) == 0 {
		m.plan(id, now)
	}
}

// moved says that blocks are about to move something on a link that messages are on.
func (m *Messages) moved(l int32) {
	if now := m.e.Now(); m.net.free[l] <= now {
		m.want(now)
	}
}

// free looks whether blocks have moved all on a link.
func (m *Messages) free(l int32, now float64) {
	if at := m.net.free[l]; at > now && m.count[l] > 0 {
		m.schedule(frees, l, at)
		return
	}
	m.watched[l] = false
	m.want(now)
}

// goOn sets a route's clock.
func (r *route) goOn(now float64) {
	r.clock, r.since = r.clock+float64(r.speed*(now-r.since)), now
}

// closeTo returns how far apart two times may be, about a time, that are one but for rounding.
func closeTo(now float64) float64 { return 1e-7 + float64(1e-12*now) }

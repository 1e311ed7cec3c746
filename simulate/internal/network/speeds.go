package network

import (
	"math"

	"mscclc/internal/heap"
)

// This file sets the speeds of messages (share.go). What a begin or an end of a message changes is found at once on its
// own way alone: the message has what its links have left. The speeds of all are set when a part of the active routes
// has changed, which is at once where they are few, or when a message might wait for too long. So the work for a change
// does not grow with the routes.

// slack is what rounding may cost of a link.
const slack = 1e-9

// patience returns the part of the active routes that change before speeds are set, and of the time that a message
// takes that a change waits for it at most. It is small where they are few.
func (m *Messages) patience() float64 { return min(float64(len(m.active))/512, 0.5) }

// speeds are what is known of links while messages share them, indexed by link.
type speeds struct {
	through [][]int32 // routes that go through it
	load    []float64 // what its messages would occupy of it at speed 1
	most    []float64 // what messages have of it: all that blocks leave
	left    []float64 // what messages leave of that

	changes int
	wanted  float64 // when speeds are set

	round int32 // of setting them
	seen  []int32
	links []int32 // that messages are on
	open  []float64
	opens []int32 // routes whose speed is not set, and what they would occupy
}

func newSpeeds(links int) speeds {
	zeros := func() []float64 { return make([]float64, links) }
	return speeds{through: make([][]int32, links), load: zeros(), most: zeros(), left: zeros(), open: zeros(),
		opens: make([]int32, links), seen: make([]int32, links), wanted: math.Inf(1)}
}

// change has a route have a message more, or less where by is -1.
func (m *Messages) change(id int32, x *Message, by int32) {
	r, now, busiest, full := &m.routes[id], m.e.Now(), 0., false
	bytes, more, speed := r.bytes, r.more, 1.
	if x.Work > 0 {
		r.bytes, r.more = r.bytes+float64(by)*x.Bytes/x.Work, r.more+float64(by)*x.More/x.Work
	}
	if len(r.on) == 0 {
		r.bytes, r.more, speed = 0, 0, 0
	}
	for _, l := range r.narrow {
		if m.count[l] += by; m.count[l] == by { // the first
			m.load[l], m.most[l] = 0, m.leaves(l, now)
			m.left[l] = m.most[l]
		}
		was, is := m.net.occupied(l, bytes, more), m.net.occupied(l, r.bytes, r.more)
		fullBefore := m.load[l] > m.most[l]+slack
		m.load[l] += is - was
		m.left[l] += float64(was * r.speed)
		fullNow := m.load[l] > m.most[l]+slack
		if left := max(m.left[l], 0); fullNow && is*speed > left {
			speed = left / is
		}
		full = full || fullBefore || fullNow
		busiest = max(busiest, m.load[l])
	}
	r.speed = speed
	for _, l := range r.narrow {
		m.left[l] -= float64(m.net.occupied(l, r.bytes, r.more) * speed)
		m.give(l, now)
	}
	m.plan(id, now)
	if !full {
		return // none is slower for it, and none was
	}
	m.changes++
	if part := m.patience(); float64(m.changes) >= part*float64(len(m.active)) {
		m.want(now)
	} else {
		m.want(now + float64(x.Work*busiest*part))
	}
}

// Leaves returns what blocks leave messages of a link: all, or all but a message's part.
func (m *Messages) leaves(l int32, now float64) float64 {
	if m.net.free[l] > now {
		return 1 - 1/float64(m.count[l]+1)
	}
	return 1
}

// give has blocks move on a link at what messages leave of its β, or at a message's part. What they have begun to move
// there takes longer then, or less long.
func (m *Messages) give(l int32, now float64) {
	rate, free := m.net.beta[l], m.net.free[l]
	if m.count[l] > 0 {
		rate *= max(1-m.most[l]+m.left[l], 1/float64(m.count[l]+1))
	}
	if free > now {
		free = now + (free-now)*m.net.rate[l]/rate
		m.net.free[l] = free
		if !m.watched[l] && m.count[l] > 0 {
			m.watched[l] = true
			m.schedule(frees, l, free)
		}
	}
	m.net.rate[l] = rate
}

// want has speeds be set at a time, after what else is then.
func (m *Messages) want(at float64) {
	if at < m.wanted {
		m.wanted = at
		m.e.Schedule(int(m.e.Last()), at)
	}
}

// settle sets all speeds.
func (m *Messages) settle(now float64) {
	if now < m.wanted {
		return
	}
	m.wanted, m.changes = math.Inf(1), 0
	m.round++
	m.links = m.links[:0]
	for _, id := range m.active {
		r := &m.routes[id]
		r.goOn(now)
		r.settled = r.bytes == 0 && r.more == 0
		if r.settled { // what occupies nothing waits for nothing
			r.speed = 1
			continue
		}
		for _, l := range r.narrow {
			if m.seen[l] != m.round {
				m.seen[l], m.load[l], m.open[l], m.opens[l], m.most[l] = m.round, 0, 0, 0, m.leaves(l, now)
				m.left[l] = m.most[l]
				m.links = append(m.links, l)
			}
			load := m.net.occupied(l, r.bytes, r.more)
			m.load[l] += load
			m.open[l] += load
			m.opens[l]++
		}
	}
	m.fill()
	m.dues = m.dues[:0]
	for _, id := range m.active {
		m.plan(id, now)
	}
	for _, l := range m.links {
		m.give(l, now)
	}
}

// fill raises all speeds alike, up to 1 or to where a link is full, whose routes keep theirs. Links that are full at
// almost the same speed are taken as one.
func (m *Messages) fill() {
	const almost = 1.005
	for speed := 0.; speed < 1; {
		next := 1.
		for _, l := range m.links {
			if m.opens[l] == 0 || m.open[l] <= m.left[l]+slack {
				continue
			}
			if full := m.left[l] / m.open[l]; full > speed*almost {
				next = min(next, full)
				continue
			}
			for _, id := range m.through[l] {
				if r := &m.routes[id]; len(r.on) > 0 && !r.settled {
					m.set(r, speed)
				}
			}
		}
		speed = next
	}
	for _, id := range m.active {
		if r := &m.routes[id]; !r.settled {
			m.set(r, 1)
		}
	}
}

// set sets a route's speed.
func (m *Messages) set(r *route, speed float64) {
	r.speed, r.settled = speed, true
	for _, l := range r.narrow {
		load := m.net.occupied(l, r.bytes, r.more)
		m.left[l] -= float64(load * speed)
		m.open[l] -= load
		m.opens[l]--
	}
}

// plan finds when the next message of a route has gone.
func (m *Messages) plan(id int32, now float64) {
	r := &m.routes[id]
	r.due = math.Inf(1)
	if len(r.on) > 0 && r.speed > 0 {
		r.due = now + max(r.first-r.clock, 0)/r.speed
		m.dues.Push(heap.Item{At: r.due, Of: id})
	}
}

package ir

import "math"

// A Schedule is what of a program decides whether it can run to its end: blocks
// of steps, the messages between them and the steps they wait for. Such
// programs are confluent (a block waits for one thing at a time, and nothing
// takes away what it waits for), so that one run stands for all.
type Schedule struct {
	Start      []int32 // block b runs steps Start[b] to Start[b+1], one after the other
	Send, Recv []int32 // by step: the connection it sends to and receives from, or -1
	Messages   []int32 // by step: how many messages its transfer takes
	Waits      Edges   // of a step: the steps that must have ended before it begins
	Conns      int
	Slots      int // messages that a connection holds
}

// Unbounded is a number of slots that no program fills.
const Unbounded = math.MaxInt

// A Wait says what a step that never begins or ends waits for.
type Wait struct {
	Step  int32
	Cause Cause
	On    int32 // the step that would end the wait, or -1 where there is none
	At    int32 // the step that On's block stands at, or -1 where it has ended
}

// A Cause is a reason to wait.
type Cause uint8

// The reasons: a step of Waits, a message to receive, a free slot to send to.
const (
	ForStep Cause = iota
	ForMessage
	ForSlot
)

// Run runs s. It returns the steps in an order in which they may end, and if
// not all do, a shortest cycle of waits, each entry's At being the next one's
// Step; or a single wait for what never comes.
func (s *Schedule) Run() (order []int32, stuck []Wait) {
	r := newScheduleRun(s)
	for b := range r.pos {
		r.wake(int32(b))
	}
	for len(r.queue) > 0 {
		batch := r.queue
		r.queue = r.spare[:0]
		for _, b := range batch {
			r.queued[b] = false
			r.run(b)
		}
		r.spare = batch
	}
	if len(r.order) < len(s.Send) {
		stuck = r.cycle()
	}
	return r.order, stuck
}

type scheduleRun struct {
	*Schedule
	pos            []int32 // by block: its next step
	sent, recvd    []int64 // by connection: messages so far
	sender, recver []int32 // by connection: the block at each end, or -1
	block          []int32 // of a step
	progress       []int32 // by block: messages of its next step that are through
	done           []bool  // of a step
	first          []int32 // by step: 1 + a block that waits for it
	next           []int32 // by block: 1 + the next block that waits for the same step
	on             []int32 // by block: the step in whose list it was put last, or -1
	queue, spare   []int32 // blocks that may go on
	queued         []bool
	order          []int32
}

func newScheduleRun(s *Schedule) *scheduleRun {
	blocks, steps := len(s.Start)-1, len(s.Send)
	r := &scheduleRun{Schedule: s, pos: append([]int32(nil), s.Start[:blocks]...),
		sent: make([]int64, s.Conns), recvd: make([]int64, s.Conns), sender: make([]int32, s.Conns),
		recver: make([]int32, s.Conns),
		block:  make([]int32, steps), progress: make([]int32, blocks), done: make([]bool, steps),
		first: make([]int32, steps), next: make([]int32, blocks), queued: make([]bool, blocks),
		order: make([]int32, 0, steps)}
	r.on = make([]int32, blocks)
	for b := range r.on {
		r.on[b] = -1
	}
	for c := range s.Conns {
		r.sender[c], r.recver[c] = -1, -1
	}
	for b := range int32(blocks) {
		for i := s.Start[b]; i < s.Start[b+1]; i++ {
			r.block[i] = b
			if c := s.Send[i]; c >= 0 {
				r.sender[c] = b
			}
			if c := s.Recv[i]; c >= 0 {
				r.recver[c] = b
			}
		}
	}
	return r
}

func (r *scheduleRun) wake(b int32) {
	if b >= 0 && !r.queued[b] {
		r.queued[b] = true
		r.queue = append(r.queue, b)
	}
}

// run takes block b as far as it goes.
func (r *scheduleRun) run(b int32) {
	for r.pos[b] < r.Start[b+1] {
		i := r.pos[b]
		if r.progress[b] == 0 {
			if w := r.pending(i); w >= 0 {
				if r.on[b] != w { // else woken for another reason, and listed already
					r.next[b], r.first[w], r.on[b] = r.first[w], b+1, w
				}
				return
			}
		}
		if !r.transfer(b, i) {
			return
		}
		r.progress[b] = 0
		r.pos[b]++
		r.done[i] = true
		r.order = append(r.order, i)
		for w := r.first[i]; w != 0; w = r.next[w-1] {
			r.wake(w - 1)
		}
	}
}

// pending returns a step that step i still waits for, or -1.
func (r *scheduleRun) pending(i int32) int32 {
	for _, w := range r.Waits.Of(int(i)) {
		if !r.done[w] {
			return w
		}
	}
	return -1
}

// transfer moves as many messages of step i as can move, and says whether
// those were the last.
func (r *scheduleRun) transfer(b, i int32) bool {
	in, out := r.Recv[i], r.Send[i]
	if in < 0 && out < 0 {
		return true
	}
	n := int64(r.Messages[i] - r.progress[b])
	if in >= 0 {
		n = min(n, r.sent[in]-r.recvd[in])
	}
	if out >= 0 {
		if free := int64(r.Slots) - (r.sent[out] - r.recvd[out]); n > free {
			n = r.through(out, n, free)
		}
	}
	if n > 0 {
		if in >= 0 {
			r.recvd[in] += n
			r.wake(r.sender[in])
		}
		if out >= 0 {
			r.sent[out] += n
			r.wake(r.recver[out])
		}
		r.progress[b] += int32(n)
	}
	return r.progress[b] == r.Messages[i]
}

// through returns how many of n messages connection c takes that has fewer free slots: those, and as many as its
// receiver, where it stands at a step that only receives, takes meanwhile. These it has received then.
func (r *scheduleRun) through(c int32, n, free int64) int64 {
	b := r.recver[c]
	if b < 0 || r.pos[b] == r.Start[b+1] {
		return free
	}
	j := r.pos[b]
	if r.Recv[j] != c || r.Send[j] >= 0 || r.progress[b] == 0 && r.pending(j) >= 0 {
		return free
	}
	taken := min(n-free, int64(r.Messages[j]-r.progress[b]))
	r.recvd[c] += taken
	r.progress[b] += int32(taken)
	return free + taken
}

// waits says what stops block b, which has not ended.
func (r *scheduleRun) waits(b int32) Wait {
	i := r.pos[b]
	w := Wait{Step: i, On: -1, At: -1}
	peer := int32(-1)
	if r.progress[b] == 0 {
		if w.On = r.pending(i); w.On >= 0 {
			peer = r.block[w.On]
		}
	}
	if peer < 0 {
		if in := r.Recv[i]; in >= 0 && r.sent[in] == r.recvd[in] {
			w.Cause, peer = ForMessage, r.sender[in]
		} else if out := r.Send[i]; out >= 0 {
			w.Cause, peer = ForSlot, r.recver[out]
		}
	}
	if peer >= 0 && r.pos[peer] < r.Start[peer+1] {
		w.At = r.pos[peer]
	}
	return w
}

// name finds, for each wait of a message or a slot, the step that would end it.
func (r *scheduleRun) name(waits []Wait) []Wait {
	for k := range waits {
		w := &waits[k]
		if w.Cause == ForStep || w.At < 0 {
			continue
		}
		for at := w.At; at < r.Start[r.block[w.At]+1] && w.On < 0; at++ {
			if w.Cause == ForMessage && r.Send[at] == r.Recv[w.Step] || w.Cause == ForSlot && r.Recv[at] == r.Send[w.Step] {
				w.On = at
			}
		}
	}
	return waits
}

// cycle finds a shortest cycle of waits. Each block that has not ended waits
// for one other, so that to follow them is to reach a cycle or a block that
// has ended.
func (r *scheduleRun) cycle() []Wait {
	seen := make([]int32, len(r.pos)) // the walk that came by, from 1
	var best []Wait
	var dangling []Wait
	for b := range int32(len(r.pos)) {
		at := b
		for at >= 0 && seen[at] == 0 && r.pos[at] < r.Start[at+1] {
			seen[at] = b + 1
			w := r.waits(at)
			if w.At < 0 {
				if dangling == nil {
					dangling = []Wait{w}
				}
				at = -1
			} else {
				at = r.block[w.At]
			}
		}
		if at < 0 || seen[at] != b+1 {
			continue
		}
		var cycle []Wait
		for first := at; ; {
			w := r.waits(at)
			cycle = append(cycle, w)
			if at = r.block[w.At]; at == first {
				break
			}
		}
		if best == nil || len(cycle) < len(best) {
			best = cycle
		}
	}
	if best == nil {
		best = dangling
	}
	return r.name(best)
}

func (c Cause) String() string {
	switch c {
	case ForMessage:
		return "the message of"
	case ForSlot:
		return "a free slot, from"
	}
	return "the end of"
}

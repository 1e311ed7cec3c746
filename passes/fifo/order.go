package fifo

import (
	"cmp"
	"fmt"
	"slices"

	"mscclc/ir"
)

// order schedules the instructions of all ranks into one list, by critical
// path, and gives each block its steps in that list's order; Seq becomes the
// place in the list.
//
// The list is a run of the program on connections with finite slots: a send is
// listed only when its connection has room for its messages and when nothing
// but the message itself is missing for its receive; a receive only when its
// message is the oldest of its connection. So both ends of every connection
// agree in their order, and everything that a step can wait for (its block's
// earlier steps, dependences, its message, a free slot) stands before it in the
// list: the program has no cycle of waits. A transfer of more messages than a
// connection has slots is listed together with its receive, and with all that
// the receive is fused with further on, since these then run side by side.
//
// Where the list stops short, fused instructions wait for each other, or a chain
// of long transfers for its own beginning. Those whose message has arrived, and
// those that such a chain could not pass, are taken apart, and the scheduling
// begins anew.
// Without fusions it cannot stop: the instruction that comes first in source
// order among the rest can always be listed, or the receive that blocks it.
func order(s *state) (int, error) {
	unfused := 0
	for try := 0; ; try++ {
		q := newScheduler(s)
		stuck, ok := q.run()
		if ok {
			q.finish()
			return unfused, nil
		}
		if len(stuck) == 0 && try >= 8 {
			return 0, fmt.Errorf("the scheduler stopped at %d of %d instructions", len(q.list), len(q.insts))
		}
		if try >= 8 { // each round frees at least one; do not take long over it
			stuck = stuck[:0]
			for i := range s.Insts {
				if in := &s.Insts[i]; in.RecvMate >= 0 && in.SendMate >= 0 {
					stuck = append(stuck, int32(i))
				}
			}
		}
		slices.SortFunc(stuck, func(a, b int32) int { return cmp.Compare(s.Insts[a].Seq, s.Insts[b].Seq) })
		for _, i := range stuck {
			unfuse(s.InstDAG, i)
		}
		unfused += len(stuck)
		depend(s.InstDAG)
	}
}

// A scheduler is one attempt at a list.
type scheduler struct {
	s     *state
	insts []ir.Inst
	users ir.Edges

	byUrgency []int32 // the instructions, the most urgent first
	urgency   []int32 // by instruction: its place in byUrgency

	local []int32   // dependences not listed yet
	ready *bitQueue // places in byUrgency
	done  []bool
	list  []int32

	conns []connection          // by the block that sends
	heirs map[int32][]int32     // sends that wait until a receive further on is freed
	woken map[int32]*connection // on whose account an instruction was considered last

	visited []int32 // of each block: the look along a chain that met it last
	look    int32
	held    map[int32]bool // fused instructions that a chain of long transfers could not pass
}

// A connection is the messages that have been sent over it and not received.
type connection struct {
	queue    []int32 // receives, oldest first
	head     int
	inFlight int32          // messages
	waiting  minHeap[int32] // sends, by their places in byUrgency
}

func newScheduler(s *state) *scheduler {
	n := len(s.Insts)
	q := &scheduler{s: s, insts: s.Insts, local: make([]int32, n), ready: newBitQueue(n), done: make([]bool, n),
		list: make([]int32, 0, n), conns: make([]connection, len(s.Blocks)), heirs: make(map[int32][]int32),
		woken: make(map[int32]*connection), visited: make([]int32, len(s.Blocks)), held: make(map[int32]bool)}
	ir.AtOnce(func() {
		q.users = s.Deps.Reverse()
		for i := range q.local {
			q.local[i] = int32(len(s.Deps.Of(i)))
		}
	}, func() {
		q.byUrgency = byUrgency(s.InstDAG)
		q.urgency = inverse(q.byUrgency)
	})
	for i := range q.local {
		if q.local[i] == 0 {
			q.freed(int32(i))
		}
	}
	return q
}

// inverse gives the place of each number in order.
func inverse(order []int32) []int32 {
	to := make([]int32, len(order))
	for k, i := range order {
		to[i] = int32(k)
	}
	return to
}

// run lists what it can. Where that is not everything, it returns the fused
// instructions to take apart.
func (q *scheduler) run() (stuck []int32, ok bool) {
	for at := q.ready.pop(); at >= 0; at = q.ready.pop() {
		i := q.byUrgency[at]
		if q.done[i] {
			continue
		}
		ok, waits := q.possible(i)
		if ok {
			q.put(i)
		} else if c := q.woken[i]; c != nil && c != waits {
			delete(q.woken, i)
			q.wake(c) // i had its turn and cannot use it
		}
	}
	if len(q.list) == len(q.insts) {
		return nil, true
	}
	for i := range q.insts {
		in := &q.insts[i]
		arrived := in.SendMate >= 0 && in.RecvMate >= 0 && q.done[in.RecvMate] && q.local[i] == 0
		if !q.done[i] && (arrived || q.held[int32(i)]) {
			stuck = append(stuck, int32(i))
		}
	}
	return stuck, false
}

// freed is called when i's last dependence has been listed: i itself may be
// possible now, or the send whose receive it is, or one that waits for a
// longer chain.
func (q *scheduler) freed(i int32) {
	q.consider(i)
	if j := q.insts[i].RecvMate; j >= 0 {
		q.consider(j)
	}
	for _, j := range q.heirs[i] {
		q.consider(j)
	}
	delete(q.heirs, i)
}

func (q *scheduler) consider(i int32) {
	if !q.done[i] && q.local[i] == 0 {
		q.ready.push(q.urgency[i])
	}
}

// possible reports whether i can be listed now. If not, it has been noted where
// what it lacks will come from; waits is the connection if it lacks slots.
func (q *scheduler) possible(i int32) (ok bool, waits *connection) {
	in := &q.insts[i]
	if q.local[i] > 0 {
		return false, nil // freed comes back to it
	}
	if in.RecvMate >= 0 {
		c := q.inbound(in)
		if c.head == len(c.queue) || c.queue[c.head] != i {
			return false, nil // considered again when it is the oldest
		}
	}
	if in.SendMate < 0 {
		return true, nil
	}
	return q.maySend(i)
}

// maySend reports whether first can send now, and with it all that would have to
// be listed together: a chain of transfers too long for their connections,
// whose instructions run side by side and so need a block each.
func (q *scheduler) maySend(first int32) (ok bool, waits *connection) {
	q.look++
	for i := first; ; {
		in := &q.insts[i]
		j := in.SendMate
		if q.local[j] > 0 {
			if i != first { // freed(j) considers only j's own mate
				q.heirs[j] = append(q.heirs[j], first)
				q.held[i] = true
			}
			return false, nil
		}
		c, g := &q.conns[in.Block], q.s.messages(in.Count)
		if c.inFlight+g <= int32(q.s.slots) {
			return true, nil
		}
		if c.inFlight > 0 {
			c.waiting.push(q.urgency[first])
			return false, c
		}
		q.visited[in.Block] = q.look
		if q.visited[q.insts[j].Block] == q.look {
			q.held[i] = true
			return false, nil
		}
		if q.insts[j].SendMate < 0 {
			return true, nil // listed together with its receive
		}
		i = j
	}
}

// put lists i, and whatever must be listed together with it.
func (q *scheduler) put(i int32) {
	for {
		in := &q.insts[i]
		q.done[i] = true
		q.list = append(q.list, i)
		if in.RecvMate >= 0 {
			q.received(in)
		}
		together := int32(-1)
		if j := in.SendMate; j >= 0 {
			c, g := &q.conns[in.Block], q.s.messages(in.Count)
			c.queue = append(c.queue, j)
			c.inFlight += g
			if c.inFlight > int32(q.s.slots) {
				together = j
			} else {
				q.consider(j)
				q.wake(c)
			}
		}
		for _, u := range q.users.Of(int(i)) {
			if q.local[u]--; q.local[u] == 0 {
				q.freed(u)
			}
		}
		if together < 0 {
			return
		}
		i = together
	}
}

func (q *scheduler) inbound(in *ir.Inst) *connection { return &q.conns[q.insts[in.RecvMate].Block] }

// received takes the oldest transfer off in's connection.
func (q *scheduler) received(in *ir.Inst) {
	c := q.inbound(in)
	c.head++
	c.inFlight -= q.s.messages(in.Count)
	if c.head == len(c.queue) {
		c.queue, c.head = c.queue[:0], 0
	} else {
		q.consider(c.queue[c.head])
	}
	q.wake(c)
}

// wake considers the most urgent send that waits for a slot of c. Where it
// leaves room, its listing wakes the next.
func (q *scheduler) wake(c *connection) {
	for len(c.waiting) > 0 && c.inFlight < int32(q.s.slots) {
		i := q.byUrgency[c.waiting.pop()]
		if !q.done[i] {
			q.woken[i] = c
			q.consider(i)
			return
		}
	}
}

// finish writes the list into the instructions, as their source order and as
// their places in their blocks, and puts them in order of rank and list.
func (q *scheduler) finish() {
	steps := make([]int32, len(q.s.Blocks))
	for k, i := range q.list {
		in := &q.insts[i]
		in.Seq, in.SendSeq = int32(k), int32(k)
		in.Step = steps[in.Block]
		steps[in.Block]++
	}
	q.s.Permute(inverse(sortBy(q.list, func(i int32) int32 { return q.insts[i].Rank })))
}

// Package exchange connects the processes that run one program together. They exchange the handles of their memory, and
// report errors to each other.
//
// [Join] connects the processes of a job over TCP: process 0 listens, and all others connect to it. [Group] makes
// members that are all in this process. [Member.AllGather] takes a message of each process, and returns all messages to
// every process. plan.Options takes a [Member]. The package imports nothing of this module.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// A Member is one process's end of an exchange. Process 0 is the hub, to which the others are connected. All processes
// must call AllGather and AllToAll in the same order; each may call the other methods at any time.
type Member struct {
	*exchange
	is func(process int) string // what errors say of a process, or nil
}

// An exchange is what all views of a member share.
type exchange struct {
	index, size int
	gather      sync.Mutex
	handing     sync.Mutex // held while all get what was gathered, though one may be gone by then
	links       []*link    // at the hub by process, elsewhere the hub's alone
	patience    atomic.Int64
	about       about
	cards       []string                // see Cards
	failed      atomic.Pointer[Failure] // the last that Agree has returned

	mu        sync.Mutex
	cause     error         // why the exchange serves no more
	done      chan struct{} // closed when there is a cause
	listeners map[uint64]listener
	topics    uint64 // that were given out
	during    during
}

// MaxProcesses bounds a job.
const MaxProcesses = 4096

// Join makes this process number index of a job of size processes, and waits until all have come. Process 0 listens at
// the place, and the others dial it.
func Join(ctx context.Context, p Place, index, size int) (*Member, error) {
	if size < 1 || size > MaxProcesses || index < 0 || index >= size {
		return nil, fmt.Errorf("process %d of a job of %d", index, size)
	}
	if len(p.Ports) == 0 {
		return nil, fmt.Errorf("no port of %s to meet at", p.Host)
	}
	x := newMember(index, size)
	join := x.dial
	if index == 0 {
		join = x.listen
	}
	if err := join(ctx, &p); err != nil {
		x.end(err, false)
		return nil, fmt.Errorf("process %d of %d, by %s: %w", index, size, &p, err)
	}
	return x, nil
}

// Group returns the members of a job of which all are in this process, indexed by number.
func Group(size int) []*Member {
	group := make([]*Member, size)
	for i := range group {
		group[i] = newMember(i, size)
	}
	for i := 1; i < size; i++ {
		a, b := net.Pipe()
		group[0].links[i], group[i].links[0] = newLink(a, i), newLink(b, 0)
		go group[0].read(group[0].links[i])
		go group[i].read(group[i].links[0])
	}
	return group
}

func newMember(index, size int) *Member {
	x := &Member{exchange: &exchange{index: index, size: size, done: make(chan struct{})}}
	x.listeners = map[uint64]listener{}
	if index == 0 {
		x.links = make([]*link, size) // its own is nil
	} else {
		x.links = make([]*link, 1)
	}
	return x
}

// Index is this process's number, from 0.
func (x *Member) Index() int { return x.index }

// Size returns the number of processes.
func (x *Member) Size() int { return x.size }

// Deal returns those of `ranks` ranks that this process drives, in order: ranks are dealt to processes in turn. Without
// an exchange (x is nil) it returns all.
func (x *Member) Deal(ranks int) (own []int) {
	first, step := 0, 1
	if x != nil {
		first, step = x.index, x.size
	}
	for r := first; r < ranks; r += step {
		own = append(own, r)
	}
	return own
}

// Driver returns the process that drives a rank, as Deal has it.
func (x *Member) Driver(rank int) int { return rank % x.size }

// Done returns a channel that is closed when the exchange serves no more.
func (x *Member) Done() <-chan struct{} { return x.done }

// Lost returns why the exchange serves no more, for example that a process is gone, or nil.
func (x *Member) Lost() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.said(x.cause)
}

// because prefers what ended the exchange to an error that followed from it.
func (x *Member) because(err error) error {
	if lost := x.Lost(); lost != nil {
		return lost
	}
	return err
}

// Close leaves the job, and tells the other processes so.
func (x *Member) Close() error {
	x.end(errors.New("this process has left the job"), true)
	return nil
}

// end is the exchange's end, the first of which counts. Who leaves in good order
// says so; else the others hear that this process is gone.
func (x *Member) end(cause error, leaves bool) {
	x.mu.Lock()
	first := x.cause == nil
	if first {
		x.cause = cause
		close(x.done)
	}
	x.mu.Unlock()
	if !first {
		return
	}
	for _, l := range x.links {
		if l == nil {
			continue
		}
		if leaves {
			l.send(frameBye, nil) // if it does not arrive, the end of the link will
		}
		l.conn.Close()
	}
}

// NextTopic returns a topic that this member has not returned before. Process 0 draws topics for all.
func (x *Member) NextTopic() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.topics++
	return x.topics
}

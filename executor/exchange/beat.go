package exchange

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// This file finds processes that are stopped, or whose machine is gone: their connections stay open. All processes
// send a frame to say that they live, however busy their other threads are.

const (
	beatEvery  = 250 * time.Millisecond
	afterFault = 5 * time.Second // that a process may be silent after an error in this one
)

// A pulse reads from a link, and counts the beats of this process since something came. It measures no time: a process
// that was stopped itself must not take the others for silent.
type pulse struct {
	from   io.Reader
	silent atomic.Int64
}

// Read implements io.Reader.
func (p *pulse) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	p.silent.Store(0)
	return n, err
}

// SetPatience has the exchange end with an error when nothing has come from a process for d. Without it there is no
// limit, until an error that this process tells in Agree.
func (x *Member) SetPatience(d time.Duration) { x.patience.Store(int64(d)) }

// worry shortens the patience, after an error in this process.
func (x *Member) worry() {
	if d := x.patience.Load(); d == 0 || d > int64(afterFault) {
		x.patience.CompareAndSwap(d, int64(afterFault))
	}
}

// beat says by a link, until that ends, that this process lives, and looks whether the other one does.
func (x *Member) beat(l *link) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-x.done:
			return
		case <-l.left:
			return
		case <-tick.C:
		}
		silent := time.Duration(l.pulse.silent.Add(1)-1) * beatEvery
		if most := time.Duration(x.patience.Load()); most > 0 && silent >= most {
			x.lost(l.to, fmt.Errorf("nothing has come from it for %v; it is stopped, or cannot be reached", silent))
			return
		}
		if l.write.TryLock() { // else something else is on its way, which says so too
			l.write.Unlock()
			go l.send(frameAlive, nil) // if it does not arrive, the silence of the other or the link's end is seen
		}
	}
}

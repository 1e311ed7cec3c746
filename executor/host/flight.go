package host

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/cpu"
)

// A flight is the launches of a plan. There is room for those of any number of plans, so it only orders its own: on
// each GPU they have turns. While it is released, launches that have not begun do nothing.
type flight struct {
	mu       sync.Mutex
	lanes    map[*gpu]*lane
	released atomic.Bool
}

// A lane is a flight on one GPU.
type lane struct {
	of      *flight
	mu      sync.Mutex
	turns   uint64 // that were given out
	over    uint64 // launches that have ended
	marked  uint64
	wanted  uint64        // how many must have ended for the first of those that wait; 0 where nobody waits
	changed chan struct{} // closed when so many have
}

// NewFlight begins the launches of a plan.
func (d *device) NewFlight() (executor.Flight, error) { return &flight{lanes: map[*gpu]*lane{}}, nil }

func (f *flight) lane(g *gpu) *lane {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lanes[g] == nil {
		f.lanes[g] = &lane{of: f, changed: make(chan struct{})}
	}
	return f.lanes[g]
}

// turn gives the next launch its turn.
func (l *lane) turn() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns++
	return l.turns
}

// await waits until so many launches have ended, or until within fires if it is not nil.
func (l *lane) await(n uint64, within <-chan time.Time) (over bool) {
	for {
		l.mu.Lock()
		over, changed := l.over >= n, l.changed
		if !over && (l.wanted == 0 || n < l.wanted) {
			l.wanted = n
		}
		l.mu.Unlock()
		if over {
			return true
		}
		select {
		case <-changed:
		case <-within:
			return false
		}
	}
}

// end notes that a launch has ended. It wakes nobody who waits for more of them: that would take a thread's time beside
// each launch of a graph.
func (l *lane) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over++; l.wanted == 0 || l.over < l.wanted {
		return
	}
	l.wanted = 0
	close(l.changed)
	l.changed = make(chan struct{})
}

func (f *flight) all() []*lane {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []*lane
	for _, l := range f.lanes {
		list = append(list, l)
	}
	return list
}

// Mark notes what was launched.
func (f *flight) Mark() error {
	for _, l := range f.all() {
		l.mu.Lock()
		l.marked = l.turns
		l.mu.Unlock()
	}
	return nil
}

// patience is how long Busy waits: who asks again and again would take the processors from what runs.
const patience = 5 * time.Millisecond

// Busy reports whether what was marked still runs, after a while.
func (f *flight) Busy() (bool, error) {
	within := time.After(patience)
	for _, l := range f.all() {
		l.mu.Lock()
		marked := l.marked
		l.mu.Unlock()
		if !l.await(marked, within) {
			return true, nil
		}
	}
	return false, nil
}

// Release has launches do nothing that have not begun: replays of a long queue would each find out that they fail.
func (f *flight) Release() { f.released.Store(true) }

// Renew lets launches run again.
func (f *flight) Renew() { f.released.Store(false) }

// Close has nothing to free.
func (f *flight) Close() error { return nil }

// A shot is a prepared launch.
type shot struct {
	g    *gpu
	lane *lane
	run  func(r *cpu.Runner) error

	mu     sync.Mutex
	closed bool
	err    error // of a launch that did not begin, for the next
}

// mostBlocks is how many blocks a launch may have: each has a stack.
const mostBlocks = 1 << 15

// Ready makes a launch ready. A block has one thread, whatever is asked, and all launches go the general way.
func (g *gpu) Ready(r *executor.Ready) (executor.Shot, error) {
	f, ok := r.Flight.(*flight)
	if !ok {
		return nil, fmt.Errorf("a flight of another device: %T", r.Flight)
	}
	s := &shot{g: g, lane: f.lane(g)}
	var blocks uint64
	if r.Two != nil {
		p := r.Two.Params
		blocks = uint64(p.BlockCount)
		var trace *abi.TraceTables
		if r.Trace != nil {
			trace = &abi.TraceTables{Rows: r.Trace.Rows, First: r.Trace.First}
		}
		s.run = func(r *cpu.Runner) error { return r.Two(&p, trace) }
	} else {
		p := *r.One
		blocks = uint64(p.BlockCount) * uint64(p.Columns)
		help := r.Help
		s.run = func(r *cpu.Runner) error { return r.One(&p, help) }
	}
	if blocks > mostBlocks {
		return nil, fmt.Errorf("a launch of %d blocks, of up to %d: %w", blocks, mostBlocks, executor.ErrNoDevice)
	}
	return s, nil
}

// Launch starts the shot on a stream of its GPU.
func (s *shot) Launch(on executor.Stream) error {
	st, err := s.g.streamOf(on)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("a launch of a call that is closed")
	}
	if s.err != nil {
		return s.err
	}
	return st.put(task{do: s.turn, lane: s.lane})
}

// turn runs the launch when those of its plan before have ended, unless the flight is released by then. A launch that
// does nothing has its turn, too: what counts as ended uses no memory of the plan any more.
func (s *shot) turn(r *cpu.Runner, turn uint64) {
	s.lane.await(turn-1, nil)
	defer s.lane.end()
	if s.lane.of.released.Load() {
		return
	}
	if err := s.run(r); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = err
	}
}

func (s *shot) Threads() int { return 1 }

func (s *shot) Room() int { return mostBlocks }

func (s *shot) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

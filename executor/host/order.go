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

// An order holds the launches of a plan. There is room for those of any number of plans, so it only orders its own: on
// each GPU they have turns. While it is released, launches that have not begun do nothing.
type order struct {
	mu        sync.Mutex
	sequences map[*gpu]*sequence
	released  atomic.Bool
}

// A sequence is the launches of a plan on one GPU, one after the other.
type sequence struct {
	of      *order
	mu      sync.Mutex
	turns   uint64 // that were given out
	over    uint64 // launches that have ended
	marked  uint64
	wanted  uint64        // how many must have ended for the first of those that wait; 0 where nobody waits
	changed chan struct{} // closed when the wanted launches have ended
}

// NewLaunchOrder begins the order of a plan's launches.
func (d *device) NewLaunchOrder() (executor.LaunchOrder, error) {
	return &order{sequences: map[*gpu]*sequence{}}, nil
}

func (f *order) sequence(g *gpu) *sequence {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sequences[g] == nil {
		f.sequences[g] = &sequence{of: f, changed: make(chan struct{})}
	}
	return f.sequences[g]
}

// turn gives the next launch its turn.
func (l *sequence) turn() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns++
	return l.turns
}

// await waits until n launches have ended, or until within fires if it is not nil.
func (l *sequence) await(n uint64, within <-chan time.Time) (over bool) {
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
func (l *sequence) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over++; l.wanted == 0 || l.over < l.wanted {
		return
	}
	l.wanted = 0
	close(l.changed)
	l.changed = make(chan struct{})
}

func (f *order) all() []*sequence {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []*sequence
	for _, l := range f.sequences {
		list = append(list, l)
	}
	return list
}

// Mark notes what was launched.
func (f *order) Mark() error {
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
func (f *order) Busy() (bool, error) {
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
func (f *order) Release() { f.released.Store(true) }

// Renew lets launches run again.
func (f *order) Renew() { f.released.Store(false) }

// Close has nothing to free.
func (f *order) Close() error { return nil }

// A prepared is a prepared launch.
type prepared struct {
	g        *gpu
	sequence *sequence
	run      func(r *cpu.Runner) error

	mu     sync.Mutex
	closed bool
	err    error // of a launch that did not begin, for the next
}

// mostBlocks is how many blocks a launch may have: each has a stack.
const mostBlocks = 1 << 15

// Ready makes a launch ready. A block has one thread, whatever is asked, and all launches go the general way.
func (g *gpu) Ready(r *executor.Ready) (executor.PreparedLaunch, error) {
	f, ok := r.Order.(*order)
	if !ok {
		return nil, fmt.Errorf("a plan of another device: %T", r.Order)
	}
	s := &prepared{g: g, sequence: f.sequence(g)}
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
		blocks = uint64(p.BlockCount) * uint64(p.Replicas)
		help, rows := r.Help, r.Rows
		s.run = func(r *cpu.Runner) error { return r.One(&p, help) }
		if rows != nil {
			launch := &abi.RowsLaunch{One: p, Rows: *rows}
			s.run = func(r *cpu.Runner) error { return r.Rows(launch) }
		}
	}
	if blocks > mostBlocks {
		return nil, fmt.Errorf("a launch of %d blocks, of up to %d: %w", blocks, mostBlocks, executor.ErrNoDevice)
	}
	return s, nil
}

// Launch starts the prepared on a stream of its GPU.
func (s *prepared) Launch(on executor.Stream) error {
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
	return st.put(task{do: s.turn, sequence: s.sequence})
}

// turn runs the launch when those of its plan before have ended, unless the plan is released by then. A launch that
// does nothing has its turn, too: what counts as ended uses no memory of the plan any more.
func (s *prepared) turn(r *cpu.Runner, turn uint64) {
	s.sequence.await(turn-1, nil)
	defer s.sequence.end()
	if s.sequence.of.released.Load() {
		return
	}
	if err := s.run(r); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = err
	}
}

func (s *prepared) Threads() int { return 1 }

func (s *prepared) Room() int { return mostBlocks }

func (s *prepared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
)

// ErrNotSupported says that this build or machine cannot do what was asked. It always comes wrapped in the reason.
var ErrNotSupported = errors.New("not supported")

// ErrNoDevice says that this machine lacks a device, or a part of it that a program needs. It always comes wrapped in
// the reason.
var ErrNoDevice = errors.New("not possible on this machine")

// A Device makes images runnable.
type Device interface {
	Name() string
	Open(img *abi.Image) (Instance, error)
}

// An Instance is one image on a device. It keeps the connections' state from
// launch to launch, and cleans it after one that failed. One launch runs at a
// time.
type Instance interface {
	// Launch runs the program once and waits for its end. The Stop says how it
	// ended; the error is of the device itself. A ctx that ends stops the launch.
	Launch(ctx context.Context, l *Launch) (Stop, error)
	Close() error
}

// A Launch is one call. Memory is by rank; Output is nil in place, where the
// two buffers begin InAt and OutAt bytes into Input.
type Launch struct {
	Params   abi.Params
	One      *abi.OneParams // instead, of a one-sided program
	Memory   []Memory
	Scratch  []int64       // bytes that each rank needs
	Messages uint64        // no connection carries more
	Wait     time.Duration // that one wait may last
	Threads  int           // of the host, for all blocks
	PerBlock int           // threads of each block, where each has its own; else 0
	Watch    *Watch        // or nil
	Trace    *Trace        // or nil

	Rows      *abi.Rows   // of a program with an epilogue, without addresses; else nil
	RowMemory []RowMemory // by rank
}

// Memory is the memory of one rank.
type Memory struct {
	Input, Output []byte
	InAt, OutAt   int64
}

// A Stop is how a launch ended: its status, what the block named there had
// after it when the launch began (One, of a one-sided program), and, where a device
// knows, how long the kernel alone took.
type Stop struct {
	Status abi.Status
	Before abi.State
	One    abi.OneState
	Kernel time.Duration
}

// A Watch records what the blocks of a launch do, and steers them: an action
// that it holds back does not begin before another has ended, or until nothing
// else can go on. A device that watches runs the actions one after the other, in
// the order of their ends and the same in every run, and ends a launch in which
// no block can go on. Who makes a Watch sets Hold, Probe and Poison.
type Watch struct {
	Hold   []Hold
	Probe  *Chunk // what Seen of the actions shows, or nil
	Poison uint64 // what fills the scratch at first
	Stale  *Stale // what one action sees of Probe, or nil

	Actions   []abi.Action // of all blocks, block by block in order
	First     []uint64     // by block: where its actions begin; and the end of all
	After     []int32      // by action: the one that it was held for, or -1; also of those let go
	FirstSeen uint64       // what the probed chunk began with at first
}

// A Hold is an action that is not to begin before another has ended. Both are
// numbers in Actions.
type Hold struct{ Action, Until int }

// A Stale is what a machine may do on which nothing makes a store visible: while an action runs, the first 8 bytes of
// the probed chunk hold a value in place of what is there. Where it is Last, the value comes after the action's own
// store, and stays. StaleCaller is no action, but who looks at the memory when the launch is over.
type Stale struct {
	Action int
	Value  uint64
	Last   bool
}

// StaleCaller is the Action of a Stale that the caller sees.
const StaleCaller = -1

// A Chunk is one chunk of one rank's memory.
type Chunk struct {
	Rank  int
	Buf   ir.Buf
	Index int
	Pass  int // of a one-sided program: which pass's part or copy of it
}

// ErrStuck says that no block of a watched launch can go on.
var ErrStuck = errors.New("no block can go on")

// lay makes the tables of a launch with the numbers p.
func (w *Watch) lay(img *abi.Image, p *abi.Params) error {
	if c := w.Probe; c != nil && !c.in(img, p.Elems, p.Chunk, p.ElemSize) {
		return c.missing()
	}
	w.Actions, w.First = img.Actions(p, img.Numbers(), p.Tiles())
	return w.holds()
}

// layOne makes the tables of a launch of a one-sided program, in one replica.
func (w *Watch) layOne(img *abi.Image, p *abi.OneParams) error {
	if c := w.Probe; c != nil && (c.Pass < 0 || uint64(c.Pass) >= p.Passes || !c.in(img, p.Elems, p.Chunk, p.ElemSize)) {
		return c.missing()
	}
	w.Actions, w.First = img.One.Actions(p.Passes)
	return w.holds()
}

func (c *Chunk) missing() error {
	return fmt.Errorf("rank %d has no %v[%d] of 8 bytes to look at", c.Rank, c.Buf, c.Index)
}

// holds makes the table of what actions are held for.
func (w *Watch) holds() error {
	if w.After = nil; len(w.Hold) == 0 {
		return nil
	}
	w.After = make([]int32, len(w.Actions))
	for i := range w.After {
		w.After[i] = -1
	}
	for _, h := range w.Hold {
		if n := len(w.Actions); h.Action < 0 || h.Action >= n || h.Until < 0 || h.Until >= n {
			return fmt.Errorf("action %d is to wait for action %d, and there are %d", h.Action, h.Until, n)
		}
		w.After[h.Action] = int32(h.Until)
	}
	return nil
}

// in reports whether c is a chunk of input, output or scratch with 8 bytes or more. elems are the elements of a piece
// of the call, chunk those of its longest chunk.
func (c *Chunk) in(img *abi.Image, elems, chunk uint64, elemSize uint32) bool {
	coll := img.Program.Coll
	if c.Rank < 0 || c.Rank >= coll.Ranks || c.Buf > ir.Scratch || c.Index < 0 || c.Index >= img.Chunks(c.Rank, c.Buf) {
		return false
	}
	class := 0
	if c.Buf != ir.Scratch {
		class = coll.Class(c.Index)
	}
	geo := data.Geometry{Coll: coll, Elems: int64(elems), Chunk: int64(chunk)}
	return geo.Length(class)*int64(elemSize) >= 8
}

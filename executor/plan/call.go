package plan

import (
	"errors"
	"fmt"
	"slices"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
)

// A CallArgs is what does not change from launch to launch of one call. Addresses
// are by the order of Plan.Ranks, and may be of any origin that GPU.Owns agrees to.
// In place, Input has each rank's one memory, laid out as Geometry.Buffers says,
// and Output is nil.
type CallArgs struct {
	DType         data.DType
	RedOp         data.RedOp
	Elems         int64 // of a piece; rows where there are Rows
	Input, Output []uint64

	Replicas  int   // blocks of each of a one-sided program's: a model chooses
	Threads   int   // of a block: the most that have room
	TileBytes int64 // of a chunk that a replica moves in a pass: the most that there is memory for

	Trace  *executor.Trace // has the launches record when their steps began and ended; see Call.TakeTrace
	Switch *SwitchMemory   // of operands of all ranks, or nil; see MulticastVariable
	Rows   *RowArgs        // of a program with an epilogue, or nil
}

// A Call is a plan with its arguments.
type Call struct {
	plan     *Plan
	geo      data.Geometry
	dtype    data.DType
	redop    data.RedOp
	replicas int
	tile     int64
	asked    int64 // tile
	passes   int64
	one      abi.OneParams // of any seat
	two      abi.Params    // instead, of a two-sided program
	rows     *abi.Rows     // of a program with an epilogue, without memory
	// by rank, what stages write on other ranks whose output a seat's steps reach
	elsewhere map[*seat][]abi.RowMemory
	prepared  map[executor.GPU]executor.PreparedLaunch
	tables    map[*seat]int // of a seat's tables for calls
	leave     map[*seat][][]byte
	offers    []map[int][]byte // of memory, until all have reached it
	title     *string          // what errors call it
	trace     *executor.Trace
	records   map[*seat]*seatTrace

	launches map[executor.GPU]int64 // of a traced call of several nodes, since it was bound or its trace was taken
}

// Launch starts the call for the ranks that are on the stream's GPU, after what
// the stream holds. It costs one call of the driver. What goes wrong on the GPU
// comes at Plan.Err and Wait.
//
// A GPU's launches of one plan follow each other, on whatever streams. Launches of
// several plans that have no room on a GPU together go one after the other, on
// all GPUs in the same order.
func (c *Call) Launch(s executor.Stream) error {
	if f := c.plan.failure.Load(); f != nil {
		return f.err
	}
	launch := c.prepared[s.GPU()]
	if launch != nil {
		c.plan.x.Calls(c.title)
		c.counted(s.GPU())
		return launch.Launch(s)
	}
	if slices.Contains(c.plan.GPUs(), s.GPU()) {
		return nil // there is nothing to do there
	}
	return fmt.Errorf("%v has no ranks of this plan", s.GPU())
}

// Replicas returns how many blocks run each of the program's.
func (c *Call) Replicas() int { return c.replicas }

// CTAs returns how many CTAs a launch has that do something, on the GPU where they are most; 0 of a two-sided program.
func (c *Call) CTAs() (most int) {
	one, ok := c.plan.kind.(*oneSided)
	for _, s := range c.plan.seats {
		if ok {
			most = max(most, one.ctas(s, c.replicas))
		}
	}
	return most
}

// Threads returns how many a block has, on the GPU where they are fewest.
func (c *Call) Threads() int {
	least := 0
	for _, s := range c.prepared {
		if n := s.Threads(); least == 0 || n < least {
			least = n
		}
	}
	return least
}

// TileBytes returns what a replica moves of a chunk in a pass.
func (c *Call) TileBytes() int64 { return c.tile }

// Passes returns how many passes over the program a launch has.
func (c *Call) Passes() int64 { return c.passes }

// Close forgets the call, which must not be running, nor be launched by a graph.
func (c *Call) Close() error {
	c.plan.mu.Lock()
	defer c.plan.mu.Unlock()
	return c.close()
}

func (c *Call) close() error {
	var errs []error
	for _, s := range c.prepared {
		errs = append(errs, s.Close())
	}
	for s, i := range c.tables {
		s.free = append(s.free, i)
	}
	for s, handles := range c.leave {
		for _, h := range handles {
			errs = append(errs, s.gpu.Leave(h))
		}
	}
	errs = append(errs, c.forget(), c.listen(0))
	c.prepared, c.tables, c.leave = nil, nil, nil
	return errors.Join(errs...)
}

package bench

import (
	"context"
	"fmt"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/selection"
)

// A Call is what is measured: a collective of one size. Coll is of Whole.
type Call struct {
	Coll  *ir.Collective
	DType data.DType
	RedOp data.RedOp
	Elems int64 // of a piece; whole rows where there are Rows

	// Rows says what rows there are of a program with an epilogue, or is nil.
	Rows *Rows

	// Unalign is how many elements its buffers lie after aligned addresses.
	Unalign int64
}

// shift returns how many bytes the call's buffers lie after aligned addresses.
func (c *Call) shift() int64 { return c.Unalign * int64(c.DType.Size()) }

// Geometry lays out the call's buffers.
func (c *Call) Geometry() data.Geometry {
	return data.NewGeometry(c.Coll, c.Elems, c.DType.Size())
}

// shares returns what a rank's output must hold at the end.
func (c *Call) shares(rank int) ([]data.Share, error) {
	list, ok := c.Geometry().Shares(rank)
	if !ok {
		return nil, fmt.Errorf("what a program of coll=\"custom\" computes: %w", executor.ErrNotSupported)
	}
	return list, nil
}

// Bytes returns the size of the call as nccl-tests counts it.
func (c *Call) Bytes() int64 {
	return c.Elems * int64(c.Coll.Divisor()/max(c.Coll.Chunks, 1)) * int64(c.DType.Size())
}

// Whole is coll with one chunk a piece, called in place or out of place. A custom collective keeps its chunks: what its
// outputs must hold is said of them.
func Whole(coll *ir.Collective, inplace bool) *ir.Collective {
	c := *coll
	if c.Inplace = inplace; c.Kind != ir.Custom {
		c.Chunks = 1
	}
	return &c
}

// Repeats reports whether a launch after another one has the same result. A call in place does not, where its outputs
// take the place of its inputs.
func (c *Call) Repeats() bool {
	switch c.Coll.Kind {
	case ir.AllGather, ir.Broadcast, ir.Gather, ir.Scatter:
		return true
	}
	return !c.Coll.Inplace
}

// Bandwidths returns the algorithm and the bus bandwidth, in GB/s, of a call of a given number of bytes that takes us
// microseconds. Nccl-tests calls them algbw and busbw. Both are 0 where us is 0.
func Bandwidths(c *ir.Collective, bytes int64, us float64) (alg, bus float64) {
	if us == 0 {
		return 0, 0
	}
	alg = float64(bytes) / us / 1e3
	return alg, alg * c.BusFactor()
}

// A Form is a compiled program to run, and the choice that it is of. What runs is Program, as wide as Choice says.
type Form struct {
	Name    string // as reports have it
	Program *either.Program
	Choice  selection.Choice
}

// An Op is a call that is ready to run, by some form or by NCCL.
type Op interface {
	Name() string
	Close() error
}

// A Device is where a rank is, as reports have it.
type Device struct {
	Rank   int    `json:"rank"`
	Group  int    `json:"group"`
	PID    int    `json:"pid"`
	Host   string `json:"hostname"`
	Number int    `json:"device"`
	Info   string `json:"device_info"`
}

// Found is what a check of all ranks found.
type Found struct {
	Checked int64 // elements
	Wrong   int64 // of them
	Outside int64 // buffers beside which something was written
}

// worse returns what the two checks of a call found: of each figure the larger.
func (f Found) worse(g Found) Found {
	return Found{max(f.Checked, g.Checked), max(f.Wrong, g.Wrong), max(f.Outside, g.Outside)}
}

// A Round is one of the two sets of data that a call is checked with.
type Round int

const (
	// First is the data of the first launch.
	First Round = iota

	// Last is the data of the launches after the last replay that counts. They differ from those of First, so that
	// what an earlier launch has left there is not taken for a result.
	Last
)

// A Measuring says how often operations run. Each replay is a given number of launches of
// each operation; those of the warm-up do not count.
type Measuring struct {
	Launches int // of a replay, in groups; 0: as many as take about Target
	Group    int // launches that count as one; 0 is 1
	Replays  int
	Warmup   int
	Target   time.Duration
	Plain    bool // no graphs
	Blocking Blocking
	Of       Of
}

// A Sample is an operation's time: the median of replays, of each what Measuring.Of says.
type Sample struct {
	Time     time.Duration
	CPU      time.Duration   // that the host takes to launch it
	Each     []time.Duration // of the replays, in their order
	Launches int             // of a replay
	How      string
	Found    Found // after the last replay, if that was checked
}

// Blocking says whether the host waits for launches, by the numbers of nccl-tests. It then measures by its own clock,
// and launches one by one.
type Blocking int

const (
	// Queued waits for nothing: all launches stand in the streams' queues.
	Queued Blocking = iota
	// WaitAndMeet waits for each launch, and for that of all ranks. Both count.
	WaitAndMeet
	// Wait waits for each launch.
	Wait
	// GroupAndMeet waits for each group of launches, and then for that of all ranks, which does not count.
	GroupAndMeet
	// NumBlocking is how many there are.
	NumBlocking
)

// Of says which time of the ranks' times counts.
type Of int

const (
	// SlowestRank is the longest.
	SlowestRank Of = iota
	// RankZero is that of rank 0.
	RankZero
	// MeanOfRanks is the mean.
	MeanOfRanks
	// FastestRank is the shortest.
	FastestRank
)

// A Site is what ranks run on. Every method is called by all processes, in the
// same order, and gives all the same. If it fails in one, it fails in all. Close and the names are this process's.
type Site interface {
	Name() string // of the device
	Driver() string
	Devices() []Device

	// Ready makes a call ready by a form.
	Ready(ctx context.Context, f *Form, c *Call) (Op, error)
	// Place makes inputs random and all else poison, and Check compares every element of what came of that. In round
	// Last, Place leaves what lies beside the buffers as it is, so that Check finds what any launch since First wrote
	// there.
	Place(ctx context.Context, c *Call, round Round) error
	Check(ctx context.Context, c *Call, round Round) (Found, error)
	// Once runs an operation once.
	Once(ctx context.Context, op Op) error
	// Measure runs operations in turn. Where check is not nil, it is their call: after the last replay that counts,
	// each operation's replay runs once more on the data of round Last, and is checked. Where the call does not repeat,
	// that replay has one launch.
	Measure(ctx context.Context, ops []Op, m Measuring, check *Call) ([]Sample, error)
	// Agree returns nil if err is nil in all processes. Else it returns err, or what another process failed with.
	Agree(ctx context.Context, err error) error
	// Any reports whether some process says yes.
	Any(ctx context.Context, yes bool) (bool, error)
	Close() error
}

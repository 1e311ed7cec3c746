package bench

import (
	"context"
	"time"

	"mscclc/executor"
	"mscclc/ir"
)

// A Call is what is measured: a collective of one size. Coll has one chunk a piece.
type Call struct {
	Coll  *ir.Collective
	DType executor.DType
	RedOp executor.RedOp
	Elems int64 // of a piece
}

// Geometry lays out the call's buffers.
func (c *Call) Geometry() executor.Geometry {
	return executor.NewGeometry(c.Coll, c.Elems, c.DType.Size())
}

// Bytes is the size of the call as nccl-tests counts it.
func (c *Call) Bytes() int64 {
	return c.Elems * int64(c.Coll.Divisor()/max(c.Coll.Chunks, 1)) * int64(c.DType.Size())
}

// Whole is coll with one chunk a piece, called in place or out of place.
func Whole(coll *ir.Collective, inplace bool) *ir.Collective {
	c := *coll
	c.Chunks, c.Inplace = 1, inplace
	return &c
}

// BusFactor is what an algorithm's bandwidth is multiplied by for the bandwidth
// that links have at least, as nccl-tests has it.
func BusFactor(c *ir.Collective) float64 {
	n := float64(c.Ranks)
	switch c.Kind {
	case ir.AllReduce:
		return 2 * (n - 1) / n
	case ir.AllGather, ir.ReduceScatter, ir.AllToAll, ir.Gather, ir.Scatter:
		return (n - 1) / n
	}
	return 1
}

// A Form is a program to run, and how wide. Zero numbers leave the choice to the
// executor.
type Form struct {
	Name    string // as reports have it
	Program *ir.Program
	Columns int
	Threads int
	Tile    int64
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

// A Measuring says how often operations run. Each replay is so many launches of
// each operation; those of the warm-up do not count.
type Measuring struct {
	Launches int // of a replay; 0: as many as take about Target
	Replays  int
	Warmup   int
	Target   time.Duration
	Plain    bool // no graphs
}

// A Sample is an operation's time: the median of replays, of each the slowest
// rank's.
type Sample struct {
	Time     time.Duration
	Launches int // of a replay
	How      string
}

// A Site is what ranks run on. Every method is called by all processes, in the
// same order, and gives all the same.
type Site interface {
	Name() string // of the device
	Driver() string
	Devices() []Device

	// Ready makes a call ready by a form.
	Ready(ctx context.Context, f *Form, c *Call) (Op, error)
	// Place makes inputs random and all else poison, and Check looks at what came
	// of that.
	Place(ctx context.Context, c *Call) error
	Check(ctx context.Context, c *Call) (Found, error)
	// Once runs an operation once.
	Once(ctx context.Context, op Op) error
	// Measure runs operations in turn.
	Measure(ctx context.Context, ops []Op, m Measuring) ([]Sample, error)
	Close() error
}

package benchcmd

import (
	"context"

	"mscclc/bench"
)

// besideTwo is the word of --vs for the two-sided program that was lowered.
const besideTwo = "two"

// beside returns what is measured beside ours that is not NCCL, or "".
func (w *benchWorld) beside() string {
	if w.vs == besideTwo {
		return besideTwo
	}
	return ""
}

// twoSidedOps returns the calls of the two-sided program that was lowered, by the engine that such programs have.
func (w *benchWorld) twoSidedOps(ctx context.Context, c *bench.Call) ([]bench.Op, error) {
	form := &bench.Form{Name: besideTwo, Program: w.twoSided[0]}
	if c.Coll.Inplace {
		form.Program = w.twoSided[1]
	}
	op, err := w.site.Ready(ctx, form, c)
	if err != nil {
		return nil, err
	}
	return []bench.Op{op}, nil
}

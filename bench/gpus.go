package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"mscclc/executor"
	"mscclc/ir"
)

// GPUsOptions are NewGPUs'.
type GPUsOptions struct {
	GPUs  executor.GPUs
	Ranks int
	Plan  executor.PlanOptions // proof and exchange; the rest is set here
	Wait  time.Duration        // that one wait of a launch may last
	Calls []*Call              // that there must be memory for
}

// GPUs is a site of which this process drives all ranks, or where there is an
// exchange, one. Its ranks go round the GPUs that it is given.
type GPUs struct {
	options GPUsOptions
	name    string
	driver  string
	lanes   lanes
	ranks   []int   // of this process
	lane    []*lane // of each
	memory  [][2]gpuBuffer
	pattern patterns
	plans   map[*ir.Program]*gpuPlan
	made    []*ir.Program // whose plans there are, in an order that all processes have
	nccl    *rivals
	devices []Device
}

// NewGPUs opens the GPUs, and makes memory for all calls.
func NewGPUs(ctx context.Context, options GPUsOptions) (*GPUs, error) {
	g := &GPUs{options: options, pattern: patterns{ranks: options.Ranks}, plans: map[*ir.Program]*gpuPlan{}}
	gpus, err := options.GPUs.GPUs()
	if err != nil {
		return nil, err
	}
	if g.driver, err = options.GPUs.Driver(); err != nil {
		return nil, err
	}
	if x := options.Plan.Exchange; x != nil {
		if x.Size() != options.Ranks {
			return nil, fmt.Errorf("there are %d processes, for %d ranks of one process each", x.Size(), options.Ranks)
		}
		g.ranks = []int{x.Index()}
	} else {
		for r := range options.Ranks {
			g.ranks = append(g.ranks, r)
		}
	}
	for i := range g.ranks {
		l, err := g.laneOf(gpus[i%len(gpus)])
		if err != nil {
			return nil, errors.Join(err, g.Close())
		}
		l.local = append(l.local, i)
		g.lane = append(g.lane, l)
	}
	g.name = g.lane[0].gpu.Name()
	if err := g.alloc(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	if g.devices, err = g.gather(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *GPUs) laneOf(gpu executor.GPU) (*lane, error) {
	for _, l := range g.lanes {
		if l.gpu.Number() == gpu.Number() {
			return l, nil
		}
	}
	l, err := newLane(gpu)
	if err == nil {
		g.lanes = append(g.lanes, l)
	}
	return l, err
}

// gather tells all processes where all ranks are.
func (g *GPUs) gather(ctx context.Context) ([]Device, error) {
	var own []Device
	host, _ := os.Hostname()
	for i, r := range g.ranks {
		gpu := g.lane[i].gpu
		own = append(own, Device{Rank: r, PID: os.Getpid(), Host: host, Number: gpu.Number(), Info: gpu.String()})
	}
	return everyones(ctx, g.options.Plan.Exchange, own)
}

// Name is the GPUs'.
func (g *GPUs) Name() string { return g.name }

// Driver is the driver, and its version.
func (g *GPUs) Driver() string { return g.driver }

// Devices are where ranks are.
func (g *GPUs) Devices() []Device { return g.devices }

// Close frees everything, unless a thread is stuck in a call: then freeing would be too.
func (g *GPUs) Close() error {
	if g.lanes.stuck() {
		return nil
	}
	var errs []error
	errs = append(errs, g.drop())
	if g.nccl != nil {
		errs = append(errs, g.nccl.close())
	}
	for i := range g.memory {
		for _, b := range g.memory[i] {
			if b.address != 0 {
				errs = append(errs, g.lane[i].do(context.Background(), func() error { return g.lane[i].gpu.Free(b.address) }))
			}
		}
	}
	for _, l := range g.lanes {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}

// A gpuOp is a call on GPUs.
type gpuOp interface {
	Op
	// start starts the call on a lane so many times.
	start(l *lane, times int) error
	// wait waits for what was started, and says what went wrong.
	wait(ctx context.Context) error
	// plain says that the call is not for graphs.
	plain() bool
}

// Once runs an operation once.
func (g *GPUs) Once(ctx context.Context, op Op) error {
	o := op.(gpuOp)
	return g.whole(ctx, o, func(l *lane) error { return o.start(l, 1) })
}

// whole has all lanes start something of an operation, and waits until it has ended in all processes.
func (g *GPUs) whole(ctx context.Context, o gpuOp, start func(l *lane) error) error {
	if err := g.started(ctx, start); err != nil {
		return err
	}
	if err := g.end(ctx, []gpuOp{o}); err != nil {
		return err
	}
	return g.meet(ctx)
}

// limit gives work on the GPUs as long as a wait may last, and all it may take besides.
func (g *GPUs) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	within := g.options.Wait + time.Minute
	return context.WithTimeoutCause(ctx, within, fmt.Errorf("the GPUs' work has not ended after %v", within))
}

// started has all lanes start something.
func (g *GPUs) started(ctx context.Context, start func(l *lane) error) error {
	ctx, cancel := g.limit(ctx)
	defer cancel()
	return g.lanes.all(ctx, start)
}

// end waits for what was started, no longer than a wait may last and all the work
// may take.
func (g *GPUs) end(ctx context.Context, ops []gpuOp) error {
	ctx, cancel := g.limit(ctx)
	defer cancel()
	for _, o := range ops {
		if err := o.wait(ctx); err != nil {
			return err
		}
	}
	return g.lanes.sync(ctx)
}

// meet waits for all processes.
func (g *GPUs) meet(ctx context.Context) error {
	_, err := everyones(ctx, g.options.Plan.Exchange, []bool{})
	return err
}

// gpuOps are the site's own view of ops.
func gpuOps(ops []Op) []gpuOp {
	return slices.Collect(func(yield func(gpuOp) bool) {
		for _, op := range ops {
			if !yield(op.(gpuOp)) {
				return
			}
		}
	})
}

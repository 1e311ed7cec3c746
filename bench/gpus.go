package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"mscclc/executor"
	"mscclc/executor/plan"
	"mscclc/ir/either"
)

// GPUsOptions are NewGPUs'.
type GPUsOptions struct {
	GPUs  executor.GPUs
	Ranks int
	Plan  plan.Options  // proof and exchange; the rest is set here
	Wait  time.Duration // that one wait of a launch may last
	Calls []*Call       // that there must be memory for
	// NullStream has launches and copies be put into the driver's null stream. It has no graphs.
	NullStream bool
	Plans      int // that stay prepared at most, more than calls are bound at once; 0 is any number
}

// GPUs is a site of which this process drives all ranks, or where there is an
// exchange, one, or as many as are dealt to it. Its ranks go round the GPUs that it is given.
type GPUs struct {
	options GPUsOptions
	name    string
	driver  string
	lanes   lanes
	ranks   []int   // of this process
	lane    []*lane // of each
	memory  [][2]gpuBuffer
	pattern patterns
	rows    *gpuRows // of the last call with rows that is ready
	plans   map[*either.Program]*gpuPlan
	made    []*either.Program // whose plans there are, as they were used last: in an order that all processes have
	nccl    *rivals
	devices []Device
	alarm   alarm
}

// NewGPUs opens the GPUs, and makes memory for all calls.
func NewGPUs(ctx context.Context, options GPUsOptions) (*GPUs, error) {
	g := &GPUs{options: options, pattern: patterns{ranks: options.Ranks}, plans: map[*either.Program]*gpuPlan{}}
	for _, c := range options.Calls {
		for r := range options.Ranks {
			in, _, _, _, _ := c.Geometry().Buffers(r)
			g.pattern.most = max(g.pattern.most, in)
		}
	}
	gpus, err := options.GPUs.GPUs()
	if err != nil {
		return nil, err
	}
	if g.driver, err = options.GPUs.Driver(); err != nil {
		return nil, err
	}
	if x := options.Plan.Exchange; x != nil && x.Size() > options.Ranks {
		return nil, fmt.Errorf("there are %d processes, for %d ranks", x.Size(), options.Ranks)
	}
	g.ranks = options.Plan.Exchange.Deal(options.Ranks)
	for i := range g.ranks {
		l, err := g.laneOf(gpus[i%len(gpus)])
		if err != nil {
			return nil, errors.Join(err, g.Close())
		}
		l.local = append(l.local, i)
		g.lane = append(g.lane, l)
	}
	g.name = g.lane[0].gpu.Name()
	if err := g.gather(ctx, g.alloc(ctx)); err != nil {
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
	l, err := newLane(gpu, g.options.NullStream)
	if err == nil {
		g.lanes = append(g.lanes, l)
	}
	return l, err
}

// gather sends all processes where all ranks are. err is what has failed so far.
func (g *GPUs) gather(ctx context.Context, err error) error {
	x := g.options.Plan.Exchange
	if x != nil {
		topic := uint64(0)
		if x.Index() == 0 {
			topic = x.NextTopic()
		}
		var topics []uint64
		if topics, err = everyones(ctx, x, []uint64{topic}, err); err == nil {
			g.alarm.listen(x, topics[0])
		}
	}
	if err != nil {
		return err
	}
	var own []Device
	host, _ := os.Hostname()
	for i, r := range g.ranks {
		gpu := g.lane[i].gpu
		own = append(own, Device{Rank: r, PID: os.Getpid(), Host: host, Number: gpu.Number(), Info: gpu.String()})
	}
	g.devices, err = everyones(ctx, x, own, nil)
	slices.SortFunc(g.devices, func(a, b Device) int { return cmp.Compare(a.Rank, b.Rank) })
	return err
}

// Name returns the GPUs'.
func (g *GPUs) Name() string { return g.name }

// Driver returns the driver, and its version.
func (g *GPUs) Driver() string { return g.driver }

// Devices returns where ranks are.
func (g *GPUs) Devices() []Device { return g.devices }

// Close frees everything, unless a thread is stuck in a call: then freeing would be too.
func (g *GPUs) Close() error {
	g.alarm.close()
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
				errs = append(errs, g.lane[i].do(context.Background(), func() error { return g.free(g.lane[i], b) }))
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
	// start starts the call on a lane a given number of times.
	start(l *lane, times int) error
	// wait waits for what was started, and says what went wrong.
	wait(ctx context.Context) error
	// prepared is the operation's plan, or nil where it is a call of NCCL's.
	prepared() *plan.Plan
	// plain says that the call is not for graphs.
	plain() bool
}

// Once runs an operation once.
func (g *GPUs) Once(ctx context.Context, op Op) error {
	o := op.(gpuOp)
	return g.run(ctx, []gpuOp{o}, func(l *lane) error { return o.start(l, 1) })
}

// run has all lanes start something of operations, and waits until it has ended in all processes. If it fails in one,
// it fails in all, and they can start something else, unless the error ends the job.
func (g *GPUs) run(ctx context.Context, ops []gpuOp, start func(l *lane) error) error {
	err := g.started(ctx, start)
	if err == nil {
		err = g.end(ctx, ops)
	}
	if err = g.Agree(ctx, err); err != nil {
		return g.recovered(ctx, ops, err)
	}
	return nil
}

// started has all lanes start something.
func (g *GPUs) started(ctx context.Context, start func(l *lane) error) error {
	ctx, cancel := g.limit(ctx)
	defer cancel()
	err := g.lanes.all(ctx, start)
	if err != nil {
		g.alarm.raise(err)
	}
	return err
}

// end waits for what was started, no longer than a wait may last and all the work
// may take.
func (g *GPUs) end(ctx context.Context, ops []gpuOp) error {
	ctx, cancel := g.limit(ctx)
	defer cancel()
	for _, o := range ops {
		if err := o.wait(ctx); err != nil {
			if o.prepared() == nil { // else the plan has notified the others
				g.alarm.raise(err)
			}
			return err
		}
	}
	err := g.lanes.sync(ctx)
	if err != nil {
		g.alarm.raise(err)
	}
	return err
}

// recovered makes operations that have failed with err in some process as they were.
func (g *GPUs) recovered(ctx context.Context, ops []gpuOp, err error) error {
	processes := g.options.Plan.Exchange != nil
	if processes && !ends(err) && slices.ContainsFunc(ops, func(o gpuOp) bool { return o.prepared() == nil }) {
		err = fmt.Errorf("%w (%w)", err, errNCCL)
	}
	if ends(err) {
		for _, l := range g.lanes {
			l.stuck.Store(l.stuck.Load() || processes)
		}
		return err
	}
	var done []*plan.Plan
	for _, o := range ops {
		if p := o.prepared(); p != nil && !slices.Contains(done, p) {
			done = append(done, p)
			err = errors.Join(err, p.Reset(context.WithoutCancel(ctx)))
		}
	}
	return err
}

// gpuOps returns the site's own view of ops.
func gpuOps(ops []Op) []gpuOp {
	return slices.Collect(func(yield func(gpuOp) bool) {
		for _, op := range ops {
			if !yield(op.(gpuOp)) {
				return
			}
		}
	})
}

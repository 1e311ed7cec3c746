package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
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

// A gpuBuffer is one that begins and ends with guard bytes.
type gpuBuffer struct{ address uint64 }

// at is where a call's part begins.
func (b gpuBuffer) at() uint64 { return b.address + guard }

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

// alloc makes the buffers, of the longest that any call has.
func (g *GPUs) alloc(ctx context.Context) error {
	g.memory = make([][2]gpuBuffer, len(g.ranks))
	for i, r := range g.ranks {
		longest := [2]int64{}
		for _, c := range g.options.Calls {
			size := int64(c.DType.Size())
			in, out, _, _, mem := c.Geometry().Buffers(r)
			longest[0] = max(longest[0], in*size, mem*size)
			if mem == 0 {
				longest[1] = max(longest[1], out*size)
			}
		}
		for k, n := range longest {
			if err := g.lane[i].do(ctx, func() (err error) {
				g.memory[i][k].address, err = g.lane[i].gpu.Alloc(n + 2*guard)
				return err
			}); err != nil {
				return err
			}
		}
	}
	return nil
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

// A gpuPlan is a program that is prepared, with room for so many columns and so
// large tiles.
type gpuPlan struct {
	plan    *executor.Plan
	columns int
	tile    int64
}

// plan prepares a form's program, anew where its width has no room.
func (g *GPUs) plan(ctx context.Context, f *Form) (*gpuPlan, error) {
	p := g.plans[f.Program]
	if p != nil && f.Columns <= p.columns && f.Tile <= p.tile {
		return p, nil
	}
	wider := &gpuPlan{columns: max(f.Columns, executor.PlanColumns)}
	if f.Tile > 0 { // else it is the usual
		wider.tile = max(f.Tile, executor.PlanTile)
	}
	if one := f.Program.OneSided; one == nil {
		wider = &gpuPlan{tile: max(f.Tile, executor.DefaultTileBytes)}
	} else if one.OnePass { // as many columns as there is room for
		wider.columns = f.Columns
	}
	if p != nil {
		wider.columns, wider.tile = max(wider.columns, p.columns), max(wider.tile, p.tile)
		delete(g.plans, f.Program)
		g.made = slices.DeleteFunc(g.made, func(o *ir.Program) bool { return o == f.Program })
		if err := p.plan.Close(); err != nil {
			return nil, err
		}
	}
	options := g.options.Plan
	options.GPUs, options.Ranks = g.options.GPUs, g.ranks
	options.Columns, options.TileBytes = wider.columns, wider.tile
	options.Types, options.PieceBytes = g.types(), g.longest()
	var err error
	if wider.plan, err = executor.Prepare(ctx, f.Program, options); err != nil &&
		strings.Contains(err.Error(), noMemory) && len(g.plans) > 0 {
		if err = g.drop(); err == nil {
			wider.plan, err = executor.Prepare(ctx, f.Program, options)
		}
	}
	if err != nil {
		return nil, err
	}
	wider.columns, wider.tile = max(wider.columns, wider.plan.MaxColumns()), wider.plan.MaxTile()
	g.plans[f.Program], g.made = wider, append(g.made, f.Program)
	return wider, wider.plan.SetWait(g.options.Wait)
}

// noMemory is what both drivers call it, in this process or in another.
const noMemory = "out of memory"

// drop closes the plans of all programs, of which a search leaves many. Nobody has a call of one while a plan is made.
func (g *GPUs) drop() error {
	var errs []error
	for _, p := range g.made {
		errs = append(errs, g.plans[p].plan.Close())
	}
	clear(g.plans)
	g.made = nil
	return errors.Join(errs...)
}

// longest is the bytes of the calls' longest piece.
func (g *GPUs) longest() (bytes int64) {
	for _, c := range g.options.Calls {
		bytes = max(bytes, c.Elems*int64(c.DType.Size()))
	}
	return bytes
}

// types are those of the calls.
func (g *GPUs) types() (list []data.DType) {
	for _, c := range g.options.Calls {
		if !slices.Contains(list, c.DType) {
			list = append(list, c.DType)
		}
	}
	return list
}

// Ready makes a call ready by a form.
func (g *GPUs) Ready(ctx context.Context, f *Form, c *Call) (Op, error) {
	p, err := g.plan(ctx, f)
	if err != nil {
		return nil, err
	}
	args := executor.CallArgs{DType: c.DType, RedOp: c.RedOp, Elems: c.Elems, Columns: f.Columns, Threads: f.Threads,
		TileBytes: f.Tile}
	for i := range g.ranks {
		args.Input = append(args.Input, g.memory[i][0].at())
		if !c.Coll.Inplace {
			args.Output = append(args.Output, g.memory[i][1].at())
		}
	}
	call, err := p.plan.Bind(ctx, args)
	if err != nil {
		return nil, err
	}
	return &planOp{site: g, name: f.Name, plan: p.plan, call: call}, nil
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

// A planOp is a call of a plan.
type planOp struct {
	site *GPUs
	name string
	plan *executor.Plan
	call *executor.Call
}

func (o *planOp) Name() string { return o.name }
func (o *planOp) Close() error {
	if o.site.lanes.stuck() {
		return nil
	}
	return o.call.Close()
}
func (o *planOp) plain() bool { return false }

// width says how wide the call is. Where one pass moves all, the tile is not what
// was asked for, nor does it matter.
func (o *planOp) width(f *Form) {
	f.Columns, f.Threads = o.call.Columns(), o.call.Threads()
	if o.call.Passes() > 1 {
		f.Tile = o.call.TileBytes()
	}
}

func (o *planOp) start(l *lane, times int) error {
	for range times {
		if err := o.call.Launch(l.stream); err != nil {
			return err
		}
	}
	return nil
}

// wait makes a plan that has failed as it was, so that the next size can run.
func (o *planOp) wait(ctx context.Context) error {
	err := o.plan.Wait(ctx)
	if err != nil {
		err = errors.Join(err, o.plan.Reset(context.WithoutCancel(ctx)))
	}
	return err
}

// lengths are the bytes of a rank's input and output, and where in one memory they
// begin, if that is what there is.
func lengths(c *Call, rank int) (in, out, inAt, outAt, mem int64) {
	size := int64(c.DType.Size())
	in, out, inAt, outAt, mem = c.Geometry().Buffers(rank)
	return in * size, out * size, inAt * size, outAt * size, mem * size
}

// addresses are where a rank's input and output begin.
func (g *GPUs) addresses(c *Call, i int) (in, out uint64) {
	_, _, inAt, outAt, _ := lengths(c, g.ranks[i])
	if c.Coll.Inplace {
		return g.memory[i][0].at() + uint64(inAt), g.memory[i][0].at() + uint64(outAt)
	}
	return g.memory[i][0].at(), g.memory[i][1].at()
}

// used are the bytes that a call has of the buffers of a rank.
func used(c *Call, rank int) []int64 {
	in, out, _, _, mem := lengths(c, rank)
	if c.Coll.Inplace {
		return []int64{mem}
	}
	return []int64{in, out}
}

// Place makes inputs random and all else poison.
func (g *GPUs) Place(ctx context.Context, c *Call, round Round) error {
	p := g.pattern.of(c, round)
	err := g.lanes.all(ctx, func(l *lane) error {
		for _, i := range l.local {
			if err := g.place(l, p, c, i, round); err != nil {
				return err
			}
		}
		return l.stream.Sync(ctx)
	})
	if err != nil {
		return err
	}
	return g.meet(ctx)
}

// place fills the buffers of one rank: a period from the host, which the GPU then
// doubles.
func (g *GPUs) place(l *lane, p *data.Pattern, c *Call, i int, round Round) error {
	for k, n := range used(c, g.ranks[i]) {
		from, bytes := g.memory[i][k].at(), n
		if round == First {
			from, bytes = g.memory[i][k].address, n+2*guard
		}
		if bytes == 0 {
			continue
		}
		if err := l.stream.Fill(from, poison, bytes); err != nil {
			return err
		}
	}
	in, _, _, _, _ := lengths(c, g.ranks[i])
	to, _ := g.addresses(c, i)
	first := make([]byte, min(in, p.Period()))
	p.Fill(first, g.ranks[i], 0)
	if len(first) == 0 {
		return nil
	}
	if err := l.stream.Put(to, first); err != nil {
		return err
	}
	for have := int64(len(first)); have < in; {
		n := min(have, in-have)
		if err := l.stream.Copy(to+uint64(have), to, n); err != nil {
			return err
		}
		have += n
	}
	return nil
}

// staged is how many bytes are compared at once.
const staged = 32 << 20

// Check compares outputs with the collective computed directly.
func (g *GPUs) Check(ctx context.Context, c *Call, round Round) (Found, error) {
	p := g.pattern.of(c, round)
	per := make([]Found, len(g.ranks))
	err := g.lanes.all(ctx, func(l *lane) error {
		stage := make([]byte, staged)
		for _, i := range l.local {
			if err := g.check(l, p, c, i, stage, &per[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Found{}, err
	}
	all, err := everyones(ctx, g.options.Plan.Exchange, per)
	var found Found
	for _, f := range all {
		found.Checked, found.Wrong, found.Outside = found.Checked+f.Checked, found.Wrong+f.Wrong, found.Outside+f.Outside
	}
	return found, err
}

// check compares one rank's output, and looks at what stands beside its buffers.
func (g *GPUs) check(l *lane, p *data.Pattern, c *Call, i int, stage []byte, found *Found) error {
	shares, err := c.shares(g.ranks[i])
	if err != nil {
		return err
	}
	size := int64(c.DType.Size())
	in, out := g.addresses(c, i)
	if !c.Coll.Inplace {
		// What is input only must be what it was: at least as far as it is staged once.
		n, _, _, _, _ := lengths(c, g.ranks[i])
		got := stage[:min(n, staged)/size*size]
		if err := l.stream.Get(got, in); err != nil {
			return err
		}
		if p.CheckCopy(got, g.ranks[i], 0) > 0 {
			found.Outside++
		}
	}
	for _, s := range shares {
		for at := int64(0); at < s.Elems; {
			n := min(s.Elems-at, staged/size)
			if err := l.stream.Get(stage[:n*size], out+uint64((s.First+at)*size)); err != nil {
				return err
			}
			found.share(p, s, at, stage[:n*size])
			at += n
		}
	}
	for k, n := range used(c, g.ranks[i]) {
		b := g.memory[i][k].address
		if err := errors.Join(l.stream.Get(stage[:guard], b),
			l.stream.Get(stage[guard:2*guard], b+uint64(guard+n))); err != nil {
			return err
		}
		if !poisoned(stage[:2*guard]) {
			found.Outside++
		}
	}
	return nil
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

package choose

import (
	"context"
	"errors"
	"slices"
	"time"

	"mscclc/executor"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/selection"
)

// A Launcher runs collectives on GPUs by the variants that its Chooser has for them, each prepared once. With an Online
// it finds out which of the likeliest are the fastest while the first calls of each size class run. Where there is an
// exchange all methods but an Invocation's Launch of a settled class are collective, and all processes call them in the
// same order. Methods are not called at once.
type Launcher struct {
	Chooser *Chooser
	Online  *Online      // nil: what the Chooser says, from the first call on
	Options plan.Options // of all plans; replicas and tile are at least the variant's

	plans map[planKey]*plan.Plan
	made  []*plan.Plan // in the order that all processes close them in
}

type planKey struct {
	variant selection.Choice
	call    Call
}

// An Invocation is a call with its buffers, to be launched any number of times.
type Invocation struct {
	launcher *Launcher
	call     Call
	args     plan.CallArgs
	bytes    int64
	bound    map[selection.Choice]*boundCall
	order    []*boundCall
}

type boundCall struct {
	plan *plan.Plan
	call *plan.Call
}

// Bind makes an invocation of a call; args' replicas, threads and tile are the variant's.
func (l *Launcher) Bind(call Call, args plan.CallArgs) *Invocation {
	pieces := (&ir.Collective{Kind: call.Kind, Ranks: call.Ranks, Chunks: 1}).Divisor()
	bytes := args.Elems * int64(pieces) * int64(args.DType.Size()) // as nccl-tests counts them
	return &Invocation{launcher: l, call: call, args: args, bytes: bytes, bound: map[selection.Choice]*boundCall{}}
}

// Settled reports whether launches are no longer tries: then they wait for nothing, and may be captured.
func (i *Invocation) Settled() bool {
	o := i.launcher.Online
	if o == nil {
		return true
	}
	_, settled := o.Winner(i.call, i.bytes, i.args.DType.Size())
	return settled
}

// Launch starts the call on a stream of each GPU that has ranks of this process, and says by which variant. A try is
// waited for.
func (i *Invocation) Launch(ctx context.Context, streams []executor.Stream) (selection.Choice, error) {
	element := i.args.DType.Size()
	if i.Settled() {
		v, err := i.chosen(element)
		if err != nil {
			return v, err
		}
		b, err := i.bind(ctx, v)
		if err != nil {
			return v, err
		}
		return v, b.launch(streams)
	}
	return i.launcher.Online.Run(ctx, i.call, i.bytes, element,
		func(ctx context.Context, v selection.Choice) (time.Duration, error) {
			b, err := i.bind(ctx, v)
			if err != nil {
				return 0, err
			}
			took, err := b.timed(ctx, streams)
			if err != nil {
				return 0, Begun(err)
			}
			return took, nil
		})
}

// chosen returns what runs the call once nothing is tried.
func (i *Invocation) chosen(element int) (selection.Choice, error) {
	if o := i.launcher.Online; o != nil {
		v, _ := o.Winner(i.call, i.bytes, element)
		return v, nil
	}
	v, _, err := i.launcher.Chooser.Choose(i.call, i.bytes, element)
	return v, err
}

// bind binds the call to a variant's plan, once.
func (i *Invocation) bind(ctx context.Context, v selection.Choice) (*boundCall, error) {
	if b := i.bound[v]; b != nil {
		return b, nil
	}
	plan, err := i.launcher.plan(ctx, v, i.call)
	if err != nil {
		return nil, err
	}
	args := i.args
	args.Replicas, args.Threads, args.TileBytes = v.Replicas, v.Threads, v.Tile
	call, err := plan.Bind(ctx, args)
	if err != nil {
		return nil, err
	}
	b := &boundCall{plan, call}
	i.bound[v], i.order = b, append(i.order, b)
	return b, nil
}

// plan prepares a variant for calls like call, once.
func (l *Launcher) plan(ctx context.Context, v selection.Choice, call Call) (*plan.Plan, error) {
	key := planKey{v, call}
	if p := l.plans[key]; p != nil {
		return p, nil
	}
	program, err := l.Chooser.Program(v, call)
	if err != nil {
		return nil, err
	}
	opt := l.Options
	opt.Ranks = slices.Clone(opt.Ranks)
	// Between nodes, tiles that fill the memory of a plan go together (transport/PROXY.md).
	nodes := call.Nodes > 1
	opt.Replicas, opt.Wider = max(opt.Replicas, v.Replicas), opt.Replicas == 0 && !nodes
	if v.Tile > plan.Tile || nodes && v.Tile > 0 {
		opt.TileBytes = max(opt.TileBytes, v.Tile)
	}
	p, err := plan.Prepare(ctx, program, opt)
	if err != nil {
		return nil, err
	}
	if l.plans == nil {
		l.plans = map[planKey]*plan.Plan{}
	}
	l.plans[key], l.made = p, append(l.made, p)
	return p, nil
}

// launch starts the call on the streams of the plan's GPUs.
func (b *boundCall) launch(streams []executor.Stream) error {
	for _, s := range streams {
		if err := b.call.Launch(s); err != nil {
			return err
		}
	}
	return nil
}

// timed launches the call between two events of each stream, and waits for it: the longest time counts.
func (b *boundCall) timed(ctx context.Context, streams []executor.Stream) (took time.Duration, err error) {
	var events []executor.Event
	defer func() {
		for _, e := range events {
			err = errors.Join(err, e.Close())
		}
	}()
	for _, s := range streams {
		for range 2 {
			e, err := s.GPU().NewEvent()
			if err != nil {
				return 0, err
			}
			events = append(events, e)
		}
	}
	for k, s := range streams {
		if err := errors.Join(s.Record(events[2*k]), b.call.Launch(s), s.Record(events[2*k+1])); err != nil {
			return 0, err
		}
	}
	if err := b.plan.Wait(ctx); err != nil {
		return 0, errors.Join(err, b.plan.Reset(context.WithoutCancel(ctx)))
	}
	for k, s := range streams {
		if err := s.Sync(ctx); err != nil {
			return 0, err
		}
		t, err := events[2*k+1].Since(events[2*k])
		if err != nil {
			return 0, err
		}
		took = max(took, t)
	}
	return took, nil
}

// Close forgets the invocation, which must not be running.
func (i *Invocation) Close() error {
	var errs []error
	for _, b := range i.order {
		errs = append(errs, b.call.Close())
	}
	i.bound, i.order = map[selection.Choice]*boundCall{}, nil
	return errors.Join(errs...)
}

// Close closes all plans; invocations are closed before.
func (l *Launcher) Close() error {
	var errs []error
	for _, p := range l.made {
		errs = append(errs, p.Close())
	}
	l.plans, l.made = nil, nil
	return errors.Join(errs...)
}

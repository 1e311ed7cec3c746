package bench

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir/either"
)

// A gpuPlan is a program that is prepared, with room for up to `replicas` replicas and tiles of
// `tile` bytes.
type gpuPlan struct {
	plan     *plan.Plan
	replicas int
	tile     int64
}

// plan prepares a form's program, anew where its width, or a row of a call, has no room.
func (g *GPUs) plan(ctx context.Context, f *Form, c *Call) (*gpuPlan, error) {
	p := g.plans[f.Program]
	if p != nil && f.Choice.Replicas <= p.replicas && f.Choice.Tile <= p.tile && (c.Rows == nil || c.unit() <= p.tile) {
		i := slices.Index(g.made, f.Program)
		g.made = append(slices.Delete(g.made, i, i+1), f.Program) // as the one that was used last
		return p, nil
	}
	wider, one := &gpuPlan{replicas: f.Choice.Replicas}, f.Program.OneSided
	if one == nil {
		wider = &gpuPlan{tile: max(f.Choice.Tile, executor.DefaultTileBytes)}
	} else if f.Choice.Tile > 0 { // else it is the usual
		wider.tile = max(f.Choice.Tile, executor.UsualWidth(g.options.GPUs).Tile)
	}
	if c.Rows != nil {
		var err error
		usual := executor.UsualWidth(g.options.GPUs).Tile
		if wider.tile, err = abi.RowTile(max(wider.tile, usual), c.unit()); err != nil {
			return nil, err
		}
	}
	if p != nil {
		wider.replicas, wider.tile = max(wider.replicas, p.replicas), max(wider.tile, p.tile)
		delete(g.plans, f.Program)
		g.made = slices.DeleteFunc(g.made, func(o *either.Program) bool { return o == f.Program })
		if err := g.Agree(ctx, p.plan.Close()); err != nil {
			return nil, err
		}
	}
	if most := g.options.Plans; most > 0 && len(g.made) >= most {
		unused := g.made[0] // for the longest
		err := g.plans[unused].plan.Close()
		delete(g.plans, unused)
		g.made = slices.Delete(g.made, 0, 1)
		if err := g.Agree(ctx, err); err != nil {
			return nil, err
		}
	}
	options := g.options.Plan
	options.GPUs, options.Ranks = g.options.GPUs, g.ranks
	options.Replicas, options.TileBytes = wider.replicas, wider.tile
	options.Wider = one != nil && !one.OnePass // else there are as many replicas as there is room for
	options.Types, options.PieceBytes = g.types(), g.longest()
	var err error
	if wider.plan, err = plan.Prepare(ctx, f.Program, options); err != nil &&
		strings.Contains(err.Error(), noMemory) && len(g.plans) > 0 {
		if err = g.Agree(ctx, g.drop()); err == nil {
			wider.plan, err = plan.Prepare(ctx, f.Program, options)
		}
	}
	if err != nil {
		return nil, err
	}
	wider.replicas, wider.tile = max(wider.replicas, wider.plan.MaxReplicas()), wider.plan.MaxTile()
	g.plans[f.Program], g.made = wider, append(g.made, f.Program)
	return wider, g.Agree(ctx, wider.plan.SetWait(g.options.Wait))
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

// longest returns the bytes of the calls' longest piece.
func (g *GPUs) longest() (bytes int64) {
	for _, c := range g.options.Calls {
		bytes = max(bytes, c.Elems*int64(c.DType.Size()))
	}
	return bytes
}

// types returns the types of the calls.
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
	p, err := g.plan(ctx, f, c)
	if err != nil {
		return nil, err
	}
	args := plan.CallArgs{DType: c.DType, RedOp: c.RedOp, Elems: c.Elems, Replicas: f.Choice.Replicas,
		Threads: f.Choice.Threads, TileBytes: f.Choice.Tile}
	if c.Rows != nil {
		return g.readyRows(ctx, f, c, p, &args)
	}
	for i := range g.ranks {
		args.Input = append(args.Input, g.memory[i][0].at(c))
		if !c.Coll.Inplace {
			args.Output = append(args.Output, g.memory[i][1].at(c))
		}
	}
	call, err := p.plan.Bind(ctx, args)
	if err != nil {
		return nil, err
	}
	return &planOp{site: g, name: f.Name, plan: p.plan, call: call}, nil
}

// A planOp is a call of a plan.
type planOp struct {
	site *GPUs
	name string
	plan *plan.Plan
	call *plan.Call
	rows *gpuRows // or nil
}

func (o *planOp) Name() string { return o.name }

func (o *planOp) Close() error {
	if o.site.lanes.stuck() {
		return nil
	}
	err := o.call.Close()
	if o.rows != nil {
		err = errors.Join(err, o.rows.free())
	}
	return err
}

func (o *planOp) plain() bool { return false }

// Eager returns op, which is a program's, as an operation that is launched one by one.
func (g *GPUs) Eager(op Op) Op { return eagerOp{op.(*planOp)} }

// An eagerOp launches a call one by one, where others are launched by graphs.
type eagerOp struct{ *planOp }

func (eagerOp) Close() error { return nil }
func (eagerOp) plain() bool  { return true }

// width says how wide the call is. Where one pass moves all, the tile is not what
// was asked for, nor does it matter.
func (o *planOp) width(f *Form) {
	f.Choice.Replicas, f.Choice.Threads = o.call.Replicas(), o.call.Threads()
	if o.call.Passes() > 1 {
		f.Choice.Tile = o.call.TileBytes()
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

func (o *planOp) wait(ctx context.Context) error { return o.plan.Wait(ctx) }
func (o *planOp) prepared() *plan.Plan           { return o.plan }

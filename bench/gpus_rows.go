package bench

import (
	"context"
	"errors"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/plan"
)

// This file has calls of programs with an epilogue on GPUs. Each has memory of its own, as the host has it.

// gpuRows are the memory of the ranks of this process.
type gpuRows struct {
	site    *GPUs
	data    *data.Rows
	buffers []rowBuffer
}

// A rowBuffer is memory of a rank. base is that of the guard bytes before it, which are on the GPU alone.
type rowBuffer struct {
	lane *lane
	host []byte
	base uint64
}

// readyRows makes a call with rows ready. args lack all that is of rows.
func (g *GPUs) readyRows(ctx context.Context, f *Form, c *Call, p *gpuPlan, args *plan.CallArgs) (Op, error) {
	made, err := c.newRows(g.ranks)
	if err != nil {
		return nil, err
	}
	r := &gpuRows{site: g, data: made}
	g.rows = r
	args.Elems = r.data.RowGeo.Elems
	if err := g.Agree(ctx, r.alloc(ctx, args)); err != nil {
		return nil, errors.Join(err, r.free())
	}
	call, err := p.plan.Bind(ctx, *args)
	if err != nil {
		return nil, errors.Join(err, r.free())
	}
	return &planOp{site: g, name: f.Name, plan: p.plan, call: call, rows: r}, nil
}

// alloc makes memory on the GPUs, and has args name it.
func (r *gpuRows) alloc(ctx context.Context, args *plan.CallArgs) error {
	host := executor.DataRows(r.data)
	args.Rows = &plan.RowArgs{Length: r.data.Length, Values: r.data.Values}
	var errs []error
	for i, rank := range r.site.ranks {
		buffer := func(host []byte) uint64 {
			if host == nil {
				return 0
			}
			b := rowBuffer{lane: r.site.lane[i], host: host}
			err := b.lane.do(ctx, func() (err error) {
				b.base, err = b.lane.gpu.Alloc(int64(len(host)) + 2*guard)
				return err
			})
			if errs = append(errs, err); err == nil {
				r.buffers = append(r.buffers, b)
			}
			return b.base + guard
		}
		args.Input, args.Output = append(args.Input, buffer(host.Input[rank])), append(args.Output, buffer(host.Output[rank]))
		var m abi.RowMemory
		for k := range r.data.Then {
			m.First[k], m.Second[k] = buffer(host.Rows.Ranks[rank].First[k]), buffer(host.Rows.Ranks[rank].Second[k])
		}
		args.Rows.Memory = append(args.Rows.Memory, m)
	}
	return errors.Join(errs...)
}

// each does something with all buffers.
func (r *gpuRows) each(ctx context.Context, do func(i int, b *rowBuffer) error) error {
	return r.site.lanes.all(ctx, func(l *lane) error {
		for i := range r.buffers {
			if b := &r.buffers[i]; b.lane == l {
				if err := do(i, b); err != nil {
					return err
				}
			}
		}
		return l.stream.Sync(ctx)
	})
}

// place puts the data of a round there.
func (r *gpuRows) place(ctx context.Context, round Round) error {
	round.place(r.data)
	return r.each(ctx, func(_ int, b *rowBuffer) error {
		if round == First {
			if err := b.lane.stream.Fill(b.base, poison, int64(len(b.host))+2*guard); err != nil {
				return err
			}
		}
		return b.lane.stream.Put(b.base+guard, b.host)
	})
}

// check compares all that a call wrote.
func (r *gpuRows) check(ctx context.Context) (found Found, err error) {
	outside := make([]bool, len(r.buffers))
	err = r.each(ctx, func(i int, b *rowBuffer) error {
		var beside [2 * guard]byte
		after := b.base + guard + uint64(len(b.host))
		if err := errors.Join(b.lane.stream.Get(b.host, b.base+guard), b.lane.stream.Get(beside[:guard], b.base),
			b.lane.stream.Get(beside[guard:], after)); err != nil {
			return err
		}
		outside[i] = !poisoned(beside[:])
		return nil
	})
	if err != nil {
		return found, err
	}
	found = foundIn(r.data.CheckRanks(r.site.ranks))
	for _, wrote := range outside {
		if wrote {
			found.Outside++
		}
	}
	return found, nil
}

// free gives the memory back.
func (r *gpuRows) free() (err error) {
	for _, b := range r.buffers {
		err = errors.Join(err, b.lane.do(context.Background(), func() error { return b.lane.gpu.Free(b.base) }))
	}
	r.buffers = nil
	return err
}

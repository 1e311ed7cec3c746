package bench

import (
	"context"
	"errors"
	"fmt"

	"mscclc/executor"
	"mscclc/executor/nccl"
	"mscclc/executor/plan"
	"mscclc/ir"
)

// rivals are NCCL's communicators of this process's ranks.
type rivals struct {
	lib   *nccl.Library
	lanes lanes
	comms map[*lane]*nccl.Comm
}

// OpenNCCL opens NCCL at path, or on the library path where that is empty, and
// makes its communicators. It gives NCCL's version.
func (g *GPUs) OpenNCCL(ctx context.Context, path string) (int, error) {
	for _, l := range g.lanes {
		if len(l.local) > 1 {
			return 0, fmt.Errorf("%v has %d ranks, and NCCL wants a GPU for each: %w", l.gpu, len(l.local), executor.ErrNoDevice)
		}
	}
	lib, err := nccl.Open(path)
	if err = g.Agree(ctx, err); err != nil {
		return 0, err
	}
	v := &rivals{lib: lib, lanes: g.lanes, comms: map[*lane]*nccl.Comm{}}
	if g.options.Plan.Exchange == nil {
		err = v.initAll(ctx)
	} else {
		err = g.initRank(ctx, v)
	}
	if err != nil {
		return 0, err
	}
	g.nccl = v
	return lib.Version, nil
}

// initAll makes all communicators, from a thread that has a GPU.
func (v *rivals) initAll(ctx context.Context) error {
	var numbers []int
	for _, l := range v.lanes {
		numbers = append(numbers, l.gpu.Number())
	}
	return v.lanes[0].do(ctx, func() error {
		comms, err := v.lib.InitAll(numbers)
		for i, c := range comms {
			v.comms[v.lanes[i]] = c
		}
		return errors.Join(err, v.lanes[0].gpu.Use())
	})
}

// initRank makes the communicator of the one rank of this process.
func (g *GPUs) initRank(ctx context.Context, v *rivals) error {
	var id []byte
	var err error
	x := g.options.Plan.Exchange
	if x.Index() == 0 {
		id, err = v.lib.UniqueID()
	}
	all, err := gathered(ctx, g, [][]byte{id}, err)
	if err != nil {
		return err
	}
	if len(all[0]) == 0 {
		return errors.New("NCCL: rank 0 has no identity of a communicator")
	}
	err = g.started(ctx, func(l *lane) error {
		l.at("making a communicator of NCCL")
		c, err := v.lib.InitRank(x.Size(), all[0], x.Index())
		v.comms[l] = c
		return err
	})
	return g.Agree(ctx, err)
}

func (v *rivals) close() error {
	return v.lanes.all(context.Background(), func(l *lane) error {
		if c := v.comms[l]; c != nil {
			return c.Close(false)
		}
		return nil
	})
}

// Rivals are NCCL's operations for a call: launched by graphs, and one by one.
func (g *GPUs) Rivals(_ context.Context, c *Call) ([]Op, error) {
	if err := nccl.Supports(c.Coll.Kind); err != nil {
		return nil, err
	}
	calls := map[*lane]*nccl.Call{}
	for _, l := range g.lanes {
		i := l.local[0]
		k := &nccl.Call{Kind: c.Coll.Kind, Count: c.Elems, DType: c.DType, RedOp: c.RedOp, Root: c.Coll.Root, To: -1,
			From: -1, Stream: uint64(l.stream.Handle())}
		k.Send, k.Recv = g.addresses(c, i)
		if c.Coll.Kind == ir.SendRecv {
			k.To, k.From = peersOf(c.Coll, g.ranks[i])
		}
		calls[l] = k
	}
	return []Op{&rivalOp{g.nccl, calls, false}, &rivalOp{g.nccl, calls, true}}, nil
}

// peersOf are who gets what a rank has, and whose it gets; -1 is nobody.
func peersOf(c *ir.Collective, rank int) (to, from int) {
	to, from = int(c.Peer[rank]), -1
	for r, p := range c.Peer {
		if int(p) == rank {
			from = r
		}
	}
	return to, from
}

// A rivalOp is a call of NCCL's.
type rivalOp struct {
	nccl  *rivals
	calls map[*lane]*nccl.Call
	one   bool // launched one by one
}

func (o *rivalOp) Name() string                   { return "NCCL" }
func (o *rivalOp) Close() error                   { return nil }
func (o *rivalOp) plain() bool                    { return o.one }
func (o *rivalOp) prepared() *plan.Plan           { return nil }
func (o *rivalOp) start(l *lane, times int) error { return o.nccl.comms[l].Start(o.calls[l], times) }

// wait waits for the streams, and asks the communicators.
func (o *rivalOp) wait(ctx context.Context) error {
	return o.nccl.lanes.all(ctx, func(l *lane) error {
		l.at("the wait for NCCL")
		return errors.Join(l.stream.Sync(ctx), o.nccl.comms[l].Err())
	})
}

package executor

import (
	"context"
	"errors"
	"slices"
	"time"
)

// A planInstance is a plan that Run waits for, whose buffers are copied to the GPUs and
// back.
type planInstance struct {
	plan       *Plan
	streams    []Stream // by seat
	begin, end []Event
	input, out []planBuffer // by rank
}

// A planBuffer is memory that grows.
type planBuffer struct {
	address uint64
	bytes   int
}

func newPlanInstance(gpus GPUs, img *Image, proof prover) (Instance, error) {
	plan, err := newPlan(context.Background(), img, proof, &PlanOptions{GPUs: gpus})
	if err != nil {
		return nil, err
	}
	ranks := img.Program.Coll.Ranks
	in := &planInstance{plan: plan, input: make([]planBuffer, ranks), out: make([]planBuffer, ranks)}
	for _, g := range plan.GPUs() {
		s, err1 := g.NewStream()
		begin, err2 := g.NewEvent()
		end, err3 := g.NewEvent()
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, errors.Join(err, in.Close())
		}
		in.streams, in.begin, in.end = append(in.streams, s), append(in.begin, begin), append(in.end, end)
	}
	return in, nil
}

// Launch runs the plan once.
func (in *planInstance) Launch(ctx context.Context, l *Launch) (Stop, error) {
	args := CallArgs{DType: DType(l.One.DType), RedOp: RedOp(l.One.RedOp), Elems: int64(l.One.Elems),
		Columns: int(l.One.Columns), TileBytes: int64(l.One.Tile), Threads: l.PerBlock, Trace: l.Trace}
	if err := in.memory(l, &args); err != nil {
		return Stop{}, err
	}
	call, err := in.plan.Bind(ctx, args)
	if err != nil {
		return Stop{}, err
	}
	took, err := in.run(ctx, l, call)
	if err == nil && l.Trace != nil && l.One.Passes > 0 {
		err = call.TakeTrace()
	}
	return Stop{Kernel: took}, errors.Join(err, call.Close())
}

// memory sees to buffers on the GPUs.
func (in *planInstance) memory(l *Launch, args *CallArgs) error {
	for r := range l.Memory {
		for k, host := range [2][]byte{l.Memory[r].Input, l.Memory[r].Output} {
			b := [2]*planBuffer{&in.input[r], &in.out[r]}[k]
			if err := b.grow(in.plan.GPU(r), len(host)); err != nil {
				return err
			}
		}
		args.Input = append(args.Input, in.input[r].address)
		if l.Memory[r].Output != nil {
			args.Output = append(args.Output, in.out[r].address)
		}
	}
	return nil
}

func (b *planBuffer) grow(g GPU, bytes int) (err error) {
	if bytes <= b.bytes {
		return nil
	}
	if b.address != 0 {
		err = g.Free(b.address)
	}
	*b = planBuffer{}
	if err == nil {
		b.address, err = g.Alloc(int64(bytes))
	}
	if err == nil {
		b.bytes = bytes
	}
	return err
}

// run copies, launches, waits, and copies back.
func (in *planInstance) run(ctx context.Context, l *Launch, call *Call) (took time.Duration, err error) {
	if err := errors.Join(in.plan.SetWait(l.Wait), in.copies(l, Stream.Put)); err != nil {
		return 0, err
	}
	for i, s := range in.streams {
		if err := errors.Join(s.Record(in.begin[i]), call.Launch(s), s.Record(in.end[i])); err != nil {
			return 0, errors.Join(err, in.plan.Wait(ctx))
		}
	}
	if err := in.plan.Wait(ctx); err != nil {
		return 0, errors.Join(err, in.plan.Reset(context.WithoutCancel(ctx)))
	}
	for i, s := range in.streams {
		if err := s.Sync(ctx); err != nil {
			return 0, err
		}
		t, err := in.end[i].Since(in.begin[i])
		if err != nil {
			return 0, err
		}
		took = max(took, t)
	}
	get := func(s Stream, address uint64, host []byte) error { return s.Get(host, address) }
	return took, in.copies(l, get)
}

// copies copies all buffers one way, outputs too, so that what is not written stays as
// it was.
func (in *planInstance) copies(l *Launch, one func(s Stream, address uint64, host []byte) error) error {
	for r := range l.Memory {
		s := in.streams[slices.Index(in.plan.GPUs(), in.plan.GPU(r))]
		if err := errors.Join(one(s, in.input[r].address, l.Memory[r].Input), one(s, in.out[r].address, l.Memory[r].Output)); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the plan, and the buffers.
func (in *planInstance) Close() error {
	err := in.plan.Close()
	for r := range in.input {
		for _, b := range [2]planBuffer{in.input[r], in.out[r]} {
			if b.address != 0 {
				err = errors.Join(err, in.plan.GPU(r).Free(b.address))
			}
		}
	}
	for i, s := range in.streams {
		err = errors.Join(err, in.begin[i].Close(), in.end[i].Close(), s.Close())
	}
	return err
}

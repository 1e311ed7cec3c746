package gputest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir/either"
)

// A rig is a plan with a stream on each of its GPUs.
type rig struct {
	plan    *plan.Plan
	streams []executor.Stream
	memory  allocator // of buffers
	skew    int       // elements before the data in the buffers of its jobs
	edges   bool      // data is from the edges of the type
	made    *data.Buffers
}

// data returns the data of a call. Calls that are alike, one after the other, share theirs on the host, where it is
// only from when it is made anew until it is put on the GPUs, and from when it is fetched until it is compared.
func (r *rig) data(dt data.DType, op data.RedOp, elems int64) *data.Buffers {
	if m := r.made; m == nil || m.DType != dt || m.RedOp != op || m.Geo.Elems != elems {
		make := data.New
		if r.edges {
			make = data.NewEdges
		}
		r.made = make(data.NewGeometry(r.plan.Program().Coll, elems, dt.Size()), dt, op,
			uint64(elems)*31+uint64(dt)*7+uint64(op))
	}
	return r.made
}

// newRig prepares a program on a device.
func newRig(ctx context.Context, d Device, p *either.Program, opt plan.Options) (*rig, error) {
	if opt.Types == nil {
		opt.Types = []data.DType{data.I32}
	}
	plan, err := plan.Prepare(ctx, p, opt)
	if err != nil {
		return nil, err
	}
	r := &rig{plan: plan, memory: d.memory()}
	for _, g := range plan.GPUs() {
		s, err := g.NewStream()
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.streams = append(r.streams, s)
	}
	return r, nil
}

func mustRig(t testing.TB, d Device, p *either.Program, opt plan.Options) *rig {
	t.Helper()
	opt.Unproven = true // who made it has proven it
	r, err := newRig(t.Context(), d, p, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) Close() error {
	err := r.plan.Close()
	for _, s := range r.streams {
		err = errors.Join(err, s.Close())
	}
	return err
}

// stream returns the one of a rank's GPU.
func (r *rig) stream(rank int) executor.Stream {
	for _, s := range r.streams {
		if s.GPU() == r.plan.GPU(rank) {
			return s
		}
	}
	return nil
}

// A job is a call with its buffers: data of all ranks, of which this process's are
// on the GPUs too.
type job struct {
	rig           *rig
	data          *data.Buffers
	args          executor.Args
	input, output []uint64
	skew          uint64 // bytes before them
	checked       int64  // elements that were compared last
	call          *plan.Call
}

// bind makes buffers and a call of a plan.
func (r *rig) bind(ctx context.Context, dt data.DType, op data.RedOp, elems int64,
	set func(*plan.CallArgs)) (*job, error) {
	j := &job{rig: r, data: r.data(dt, op, elems)}
	j.args, j.skew = executor.DataArgs(j.data), uint64(r.skew*dt.Size())
	args := plan.CallArgs{DType: dt, RedOp: op, Elems: elems}
	for _, rank := range r.plan.Ranks() {
		for k, host := range [2][][]byte{j.args.Input, j.args.Output} {
			if host == nil {
				continue
			}
			a, err := r.memory.alloc(r.plan.GPU(rank), int64(max(len(host[rank]), 1))+int64(j.skew))
			if err != nil {
				return nil, errors.Join(err, j.close())
			}
			to := [2]*[]uint64{&j.input, &j.output}[k]
			*to = append(*to, a+j.skew)
		}
	}
	args.Input, args.Output = j.input, j.output
	if set != nil {
		set(&args)
	}
	var err error
	if j.call, err = r.plan.Bind(ctx, args); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

func (j *job) close() error {
	var err error
	if j.call != nil {
		err = j.call.Close()
	}
	for _, list := range [2][]uint64{j.input, j.output} {
		for i, a := range list {
			err = errors.Join(err, j.rig.memory.free(j.rig.plan.GPU(j.rig.plan.Ranks()[i]), a-j.skew))
		}
	}
	return err
}

// each does something with every buffer on a GPU and its data on the host.
func (j *job) each(f func(s executor.Stream, address uint64, host []byte) error) error {
	for i, rank := range j.rig.plan.Ranks() {
		s := j.rig.stream(rank)
		if err := f(s, j.input[i], j.args.Input[rank]); err != nil {
			return err
		}
		if j.output != nil {
			if err := f(s, j.output[i], j.args.Output[rank]); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill puts the data on the GPUs, and fetch takes it from there.
func (j *job) fill() error {
	j.data.Reset()
	return j.each(func(s executor.Stream, address uint64, host []byte) error { return s.Put(address, host) })
}

func (j *job) fetch() error {
	return j.each(func(s executor.Stream, address uint64, host []byte) error { return s.Get(host, address) })
}

// launch starts the call on all GPUs.
func (j *job) launch() error {
	for _, s := range j.rig.streams {
		if err := j.call.Launch(s); err != nil {
			return err
		}
	}
	return nil
}

// run fills, launches once, waits, and compares every element.
func (j *job) run(ctx context.Context) error {
	if err := errors.Join(j.fill(), j.launch()); err != nil {
		return err
	}
	if err := j.rig.plan.Wait(ctx); err != nil {
		return err
	}
	return j.compare()
}

// compare fetches and compares.
func (j *job) compare() error {
	if err := j.fetch(); err != nil {
		return err
	}
	rep := j.data.CheckRanks(j.rig.plan.Ranks())
	if j.checked = rep.Checked; j.rig.plan.Program().ModifiesInput() { // as plans from elsewhere may
		rep.Changed = nil
	}
	if err := rep.Err(); err != nil {
		return fmt.Errorf("%v %v, %d elements, %d replicas: %w", j.data.DType, j.data.RedOp, j.data.Geo.Elems,
			j.call.Replicas(), err)
	}
	if j.data.Geo.Elems > 0 && rep.Checked == 0 {
		return errNothing
	}
	return nil
}

var errNothing = errors.New("nothing was compared")

// once binds, runs and closes a call.
func (r *rig) once(ctx context.Context, dt data.DType, op data.RedOp, elems int64, set func(*plan.CallArgs)) error {
	j, err := r.bind(ctx, dt, op, elems, set)
	if err != nil {
		return err
	}
	return errors.Join(j.run(ctx), j.close())
}

// soon is time enough for anything that is not stuck.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

//go:build cgo && linux

package plan_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/cuda"
	"mscclc/executor/data"
	"mscclc/executor/gpu/gputest"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/lang"
)

// onDevice has GPUs be NVIDIA's where MSCCLC_REQUIRE asks for them, else the mock driver.
func onDevice(t *testing.T) {
	t.Helper()
	if gputest.Required("cuda") {
		return
	}
	library, err := gputest.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("MSCCLC_LIBCUDA", library)
}

// A planned is a plan with its streams, of which all ranks are here.
type planned struct {
	*plan.Plan
	streams []executor.Stream
}

// prepareRoom prepares a program of the catalog, one-sided, with room for launches of several replicas and passes.
func prepareRoom(t *testing.T, name, ranks string, proto ir.Protocol) *planned {
	t.Helper()
	text, err := algorithms.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	inplace := false
	p, err := mscclc.Compile(name+".mscl", text, mscclc.Options{OneSided: true,
		Lang: lang.Options{Params: lang.Params{"ranks": ranks}, Protocol: &proto, Inplace: &inplace, Open: algorithms.Open}})
	if err != nil {
		t.Fatal(err)
	}
	r := &planned{}
	if r.Plan, err = plan.Prepare(t.Context(), p, plan.Options{GPUs: cuda.Device(), Replicas: 3,
		TileBytes: 1024, Types: []data.DType{data.I32}, Unproven: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.SetWait(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	for _, g := range r.GPUs() {
		s, err := g.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		r.streams = append(r.streams, s)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		for _, s := range r.streams {
			s.Close()
		}
	})
	return r
}

// run runs a call of new buffers once, out of place, and compares every element.
func (r *planned) run(t *testing.T, elems int64, replicas int, seed uint64) error {
	t.Helper()
	buffers := data.New(data.NewGeometry(r.Program().Coll, elems, 4), data.I32, data.Sum, seed)
	host, args := executor.DataArgs(buffers), plan.CallArgs{DType: data.I32, RedOp: data.Sum, Elems: elems,
		Replicas: replicas}
	each := func(do func(s executor.Stream, address uint64, host []byte) error) error {
		var errs []error
		for rank := range host.Input {
			s := r.streams[slices.Index(r.GPUs(), r.GPU(rank))]
			errs = append(errs, do(s, args.Input[rank], host.Input[rank]), do(s, args.Output[rank], host.Output[rank]))
		}
		return errors.Join(errs...)
	}
	for rank := range host.Input {
		for k, list := range []*[]uint64{&args.Input, &args.Output} {
			a, err := r.GPU(rank).Alloc(int64(len([2][]byte{host.Input[rank], host.Output[rank]}[k])))
			if err != nil {
				return err
			}
			defer r.GPU(rank).Free(a)
			*list = append(*list, a)
		}
	}
	call, err := r.Bind(t.Context(), args)
	if err != nil {
		return err
	}
	defer call.Close()
	err = each(executor.Stream.Put)
	for _, s := range r.streams {
		err = errors.Join(err, call.Launch(s))
	}
	if err = errors.Join(err, r.Wait(t.Context())); err != nil {
		return err
	}
	if err := each(func(s executor.Stream, address uint64, to []byte) error { return s.Get(to, address) }); err != nil {
		return err
	}
	rep := buffers.Check()
	return rep.Err()
}

// TestFewRenew comes to where packets' flags begin anew in launches of few packets, with slots that hold the flags of
// the passes after it since an earlier period, in one replica and in several; some come there, others have been there.
func TestFewRenew(t *testing.T) {
	onDevice(t)
	t.Setenv(plan.FewVariable, "1")
	for _, x := range []struct {
		name, ranks string
		proto       ir.Protocol
	}{{"allreduce/allpairs_onestep", "2", ir.LL}, {"allreduce/allpairs", "3", ir.LL},
		{"allgather/allpairs", "4", ir.LL16}} {
		r := prepareRoom(t, x.name, x.ranks, x.proto)
		unit := int64(r.Program().Coll.Chunks * 4) // elements of a 16th of a kilobyte in each chunk
		for at := uint64(1); at <= 3; at += 2 {
			var err error
			for replicas := 1; replicas <= 3; replicas += 2 {
				// every copy, with the first flags of all, in passes of a tile
				long := unit * 64 * 3 * int64(replicas) * int64(r.Program().OneSided.Depth)
				end := at * abi.OnePeriod
				err = errors.Join(err, r.Reset(t.Context()), r.run(t, long, replicas, 1), r.Age(end-2))
				for k := range uint64(6) { // of which the third is the first of the period
					err = errors.Join(err, r.run(t, unit*int64(8+k), replicas, end+k))
				}
				err = errors.Join(err, r.run(t, long, replicas, 2), r.run(t, unit*8, replicas, 3))
			}
			if err != nil {
				t.Fatalf("%s, period %d: %v", x.name, at, err)
			}
		}
	}
}

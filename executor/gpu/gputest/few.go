package gputest

import (
	"context"
	"errors"
	"testing"

	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/either"
)

// testFew runs launches of few packets between general ones of the same plans, of all types, in one replica and in
// several, of which the last has less than others or nothing. A swing of four ranks has Moves of lines side by side of
// which some send on what they take and some do not.
func testFew(t *testing.T, d Device) {
	turn := 0
	for i, name := range []string{"allreduce/allpairs_onestep", "allreduce/allpairs", "allreduce/ring",
		"allgather/allpairs", "reducescatter/allpairs", "alltoall/one_step", "allreduce/swing"} {
		for ranks := 2; ranks <= 4; ranks++ {
			swing := name == "allreduce/swing"
			if swing && ranks == 3 {
				continue // it is for powers of two
			}
			for _, proto := range []ir.Protocol{[]ir.Protocol{ir.LL, ir.LL16, ir.LL}[ranks-2], ir.LL128} {
				s := ranked(name, ranks, proto, (i+ranks)%2 == 0 && name != "alltoall/one_step")
				if turn++; !d.takes(turn) && !(swing && ranks == 4 && proto == ir.LL128) {
					continue
				}
				t.Run(s.String(), func(t *testing.T) { fewAndMany(t, d, mustProgram(t, s), turn) })
			}
		}
	}
	if d.StandIn() {
		for _, proto := range []ir.Protocol{ir.LL, ir.LL128} {
			if made := calls(t, role{Do: "fewRows", Proto: proto}); made["few"] != 3*2 {
				t.Errorf("%v: %d launches of 6 of whole rows were of few packets: %v", proto, made["few"], made)
			}
			if made := calls(t, role{Do: "few", Proto: proto}); made["few"] != 2 {
				t.Errorf("%v: %d launches of 2 were of few packets: %v", proto, made["few"], made)
			}
		}
	}
}

// whole returns how many elements are a number of units of 16 bytes of every chunk.
func whole(p *either.Program, dt data.DType, units int) int64 {
	return int64(units * p.Coll.Chunks * 16 / dt.Size())
}

// fewAndMany runs calls of few packets and of many, of all types. Of programs of other turns it leaves out others.
func fewAndMany(t *testing.T, d Device, p *either.Program, turn int) {
	r := mustRig(t, d, p, plan.Options{GPUs: d.Open(numbers()...), Replicas: 5})
	for dt := range data.NumDTypes {
		for k, units := range []int{1, 2, 5, 31, 64, 130} {
			if d.StandIn() && !covering.OneIn(6*int(dt)+k+turn, 4) {
				continue
			}
			replicas := []int{0, 1, 3, 5}[(k+int(dt))%4]
			set := func(a *plan.CallArgs) { a.Replicas, a.Threads = replicas, []int{0, 64}[k%2] }
			err := r.once(soon(t), dt, data.Sum, whole(p, dt, units), set)
			if err == nil && k%2 == 0 && !r.plan.Even() {
				err = r.once(soon(t), dt, data.Max, whole(p, dt, units)+1, set)
			}
			if err != nil {
				t.Fatalf("%v, %d units: %v", dt, units, err)
			}
		}
	}
}

// childFew makes launches of few packets.
func childFew(ctx context.Context, d Device, r role) error {
	p, err := ranked("allreduce/allpairs_onestep", 2, r.Proto, false).oneSided()
	if err != nil {
		return err
	}
	g, err := newRig(ctx, d, p, plan.Options{GPUs: d.Open(0, 1), Unproven: true})
	if err != nil {
		return err
	}
	return errors.Join(g.once(ctx, data.I32, data.Sum, whole(p, data.I32, 4), nil), g.Close())
}

// childFewRows makes launches of few packets that finish rows, twice for each rank: of whole units. A launch of rows
// that are none goes the general way.
func childFewRows(ctx context.Context, d Device, r role) (err error) {
	p, err := rowProgram("onestep", "residual, rms_norm(eps)", 2, r.Proto)
	if err != nil {
		return err
	}
	g, err := newRig(ctx, d, p, plan.Options{GPUs: d.Open(0, 1), Unproven: true, Types: []data.DType{data.BF16}})
	if err != nil {
		return err
	}
	for i, of := range []struct {
		rows   int64
		length int
	}{{1, 1024}, {3, 8}, {3, 9}, {200, 1024}} {
		j, err1 := g.bindRows(ctx, newRows(p, data.BF16, of.rows, of.length, uint64(i)), 0, nil)
		if err1 == nil {
			err1 = errors.Join(j.fill(), j.launch(), g.plan.Wait(ctx), j.compare(), j.close())
		}
		err = errors.Join(err, err1)
	}
	return errors.Join(err, g.Close())
}

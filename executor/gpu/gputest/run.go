package gputest

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"mscclc/executor"
	"mscclc/ir"
)

// Run runs all tests of a device.
func Run(t *testing.T, d Device) {
	d.need(t)
	for name, test := range map[string]func(*testing.T, Device){
		"Plans": testPlans, "Types": testTypes,
	} {
		t.Run(name, func(t *testing.T) { test(t, d) })
	}
}

// need skips a test where there is no GPU, unless MSCCLC_REQUIRE says that there
// is one.
func (d Device) need(t testing.TB) {
	t.Helper()
	_, err := d.Open().GPUs()
	if err == nil {
		return
	}
	if d.StandIn() || !errors.Is(err, executor.ErrNoDevice) || slices.Contains(strings.Split(os.Getenv("MSCCLC_REQUIRE"), ","), d.Name) {
		t.Fatal(err)
	}
	t.Skip(err)
}

// testPlans runs one-sided programs with every protocol, in place and out of place, at
// odd sizes, in columns that are many and uneven.
func testPlans(t *testing.T, d Device) {
	for _, name := range []string{"allreduce/allpairs", "allgather/allpairs", "reducescatter/allpairs", "alltoall/one_step", "allreduce/ring", "allreduce/allpairs_onestep"} {
		for i, ranks := range []int{2, 3, 4, 8} {
			for proto := range ir.NumProtocols {
				s := ranked(name, ranks, proto, (i+int(proto))%2 == 0)
				t.Run(s.String(), func(t *testing.T) {
					p, err := s.oneSided()
					if err != nil {
						t.Skip(err)
					}
					r := mustRig(t, p, executor.PlanOptions{GPUs: d.Open()})
					for k, elems := range []int64{0, 1, 5, 1000, 40009} {
						if r.plan.Even() {
							elems *= int64(p.Coll.Chunks)
						}
						for _, columns := range []int{0, 1, 3} {
							err := r.once(soon(t), executor.I32, executor.Sum, elems, func(a *executor.CallArgs) {
								a.Columns, a.TileBytes = columns, int64(k*columns)*512
							})
							if err != nil {
								t.Fatal(err)
							}
						}
					}
				})
			}
		}
	}
}

// testTypes runs every type with every reduction.
func testTypes(t *testing.T, d Device) {
	r := mustRig(t, mustOne(t, ranked("allreduce/allpairs", 4, ir.LL, false)), executor.PlanOptions{GPUs: d.Open()})
	for dt := range executor.NumDTypes {
		for op := range executor.NumRedOps {
			if err := r.once(soon(t), dt, op, 4001, nil); err != nil {
				t.Errorf("%v %v: %v", dt, op, err)
			}
		}
	}
}

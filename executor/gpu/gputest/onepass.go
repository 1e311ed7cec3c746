package gputest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"mscclc/algorithms"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/either"
)

// seatings returns the GPUs that ranks go round: all, and the first alone, where there are more.
func (d Device) seatings(t testing.TB) [][]int {
	t.Helper()
	gpus, err := d.Open(numbers()...).GPUs()
	if err != nil {
		t.Fatal(err)
	}
	if len(gpus) == 1 {
		return [][]int{numbers()}
	}
	return [][]int{numbers(), {gpus[0].Number()}}
}

var seatingNames = [2]string{"", " on one GPU"}

// A onePassRun runs programs of one pass a launch, and counts.
type onePassRun struct {
	d               Device
	large           int64 // bytes of the largest call, or 0
	programs, calls int
	elems           int64 // compared
}

// all runs each program on some GPUs: on all seatings, or on one each in turn.
func (o *onePassRun) all(t *testing.T, list []launchable, every bool) {
	seatings := o.d.seatings(t)
	for i, l := range list {
		if !o.d.takes(i) {
			continue
		}
		for k, gpus := range seatings {
			if every || i%len(seatings) == k {
				t.Run(l.name+seatingNames[k], func(t *testing.T) { o.one(t, l.program, gpus, i) })
			}
		}
	}
}

// one runs a program at sizes that are odd, tiny, and one that is large.
func (o *onePassRun) one(t *testing.T, p *either.Program, gpus []int, turn int) {
	const replicas = 3
	large := o.large / 4 / int64(max(p.Coll.Divisor(), 1)) // elements of a chunk
	opt := plan.Options{GPUs: o.d.Open(gpus...), Replicas: replicas, TileBytes: max(1<<14, large*4/replicas+256),
		Types: []data.DType{data.I32, data.BF16}}
	r := mustRig(t, o.d, p, opt)
	if err := r.plan.SetWait(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	o.programs++
	for k, each := range []int64{0, 1, 7, 4 * int64(1+turn%9), 1003, 3070, large} {
		if k > 0 && each == 0 {
			continue
		}
		dt, op := data.I32, data.Sum
		switch (turn + k) % 5 {
		case 1:
			dt = data.BF16
		case 3:
			op = []data.RedOp{data.Max, data.Min}[turn%2]
		}
		threads, wide := 64*((turn+k)/2%2), (turn+k)%(replicas+1)
		r.skew = turn / 2 % 3 // buffers may lie at any element
		if k == 6 {           // for which there is memory in all replicas
			wide, r.skew = wide%2*replicas, 0
		}
		j, err := r.bind(t.Context(), dt, op, each*int64(p.Coll.Chunks), func(a *plan.CallArgs) {
			a.Replicas, a.Threads, a.TileBytes = wide, threads, 64
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.run(soon(t)), j.close()); err != nil && !errors.Is(err, errNothing) {
			t.Fatalf("%d elements of a chunk: %v", each, err)
		}
		o.calls++
		o.elems += j.checked
	}
}

// testOnePass runs plans of MSCCL++, and algorithms at the level of channels, in the turns of their loops, with all
// ranks on one GPU and on all of them.
func testOnePass(t *testing.T, d Device) {
	o := &onePassRun{d: d, large: int64(d.times(1<<19, 1<<23))}
	ranks, nodes := []int{2, 3, 8}, [][2]int{{2, 2}, {2, 3}}
	if !d.StandIn() {
		ranks, nodes = append(ranks, 16), append(nodes, [2]int{4, 2}, [2]int{2, 8})
	}
	// A driver may want multiprocessors to copy from rank to rank of one GPU, and the many blocks of 16 ranks leave none.
	level := slices.DeleteFunc(atLevel(t, ranks, nodes, 1, 2, d.times(8, 40)),
		func(c channelled) bool { return strings.HasPrefix(c.name, "twophase_port.mscl map[ranks:16]") })
	o.all(t, launchables(t, given(t, 1, 2, 3, 8)), true)
	o.all(t, launchables(t, level), !d.StandIn())
	t.Logf("%d programs, %d calls, %d elements compared", o.programs, o.calls, o.elems)
}

// testWritten runs plans that are written here, of the catalog's programs and of random ones: each shape in one of
// eight ways, with MSCCLC_TESTS=full in all.
func testWritten(t *testing.T, d Device) {
	var list []channelled
	turn := 0
	for _, name := range algorithms.Names() {
		for _, params := range shapes(name, d.StandIn()) {
			if _, err := (shape{name: name, params: params}).twoSided(); err != nil { // the program has no such shape
				continue
			}
			for way := range 8 {
				if !covering.Full() && way != turn*3%8 {
					continue
				}
				s := shape{name: name, params: params, inplace: way&4 != 0, proto: ir.Protocol(way & 1)}
				if _, err := s.twoSided(); err == nil { // else it has no such placement
					list = append(list, writtenOf(s, 1+way&2))
				}
			}
			turn++
		}
	}
	for seed := range d.times(30, 80) {
		list = append(list, writtenRandom(int64(seed)))
	}
	o := &onePassRun{d: d}
	o.all(t, launchables(t, list), false)
	t.Logf("%d programs, %d calls, %d elements compared", o.programs, o.calls, o.elems)
}

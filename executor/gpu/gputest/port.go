package gputest

import (
	"context"
	"errors"
	"maps"
	"math/rand"
	"slices"
	"testing"
	"time"

	"mscclc"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
)

// ported are programs that copy by a port: directly, the other way round, from one rank to the next, and
// beside packets and folds.
var ported = map[string]string{
	"gather": `allgather(ranks)
for r in 0..ranks { chunk(r, input, 0).copy([(r + i) % ranks for i in 0..ranks], output, r, via = port) }`,
	"pull": `allgather(ranks)
for r in 0..ranks { chunk(r, input, 0).copy([(r + i) % ranks for i in 0..ranks], output, r, via = port, pull = true) }`,
	"all": `alltoall(ranks)
for r in 0..ranks, i in 0..ranks { chunk(r, input, (r + i) % ranks).copy((r + i) % ranks, output, r, via = port) }`,
	"chain": `broadcast(ranks, 0, chunks = 3, inplace = true)
for i in 1..ranks { chunk(i - 1, output, 0, 3).copy(i, via = port) }`,
	"mixed": `allreduce(ranks)
scratch gathered[ranks]
for r in 0..ranks {
    let others = [chunk(p, input, r).copy(r, gathered, p, via = port) for p in 0..ranks if p != r]
    let sum = reduce([chunk(r, input, r)] + others, r, output, r)
    for p in 0..ranks if p != r { if p % 2 == 0 { sum.copy(p, via = port) } else { sum.copy(p) } }
}`,
}

// alone has rank 0 copy to scratch of rank 1, for which it waits for nobody.
const alone = `broadcast(ranks, 0, chunks = 1, inplace = true)
scratch landing[1]
chunk(0, output, 0).copy(1, landing, 0, via = port).copy(1, output, 0)`

// portProgram lowers one of ported; it is proven.
func portProgram(name string, ranks int, proto ir.Protocol) (*either.Program, error) {
	text := ported[name]
	if name == "alone" {
		text = alone
	}
	return mscclc.Compile(name+".mscl", []byte("algorithm a(ranks = 2)\ncollective "+text), mscclc.Options{OneSided: true,
		Lang: lang.Options{Params: lang.Params{"ranks": ranks}, Protocol: &proto}})
}

func mustPort(t testing.TB, d Device, name string, ranks int, proto ir.Protocol, opt plan.Options) *rig {
	t.Helper()
	p, err := portProgram(name, ranks, proto)
	if err != nil {
		t.Fatal(err)
	}
	opt.GPUs = d.Open(numbers()...)
	return mustRig(t, d, p, opt)
}

// testPort runs them all at odd sizes, in replicas and passes that are many and uneven, and more copies than
// a lane holds.
func testPort(t *testing.T, d Device) {
	rnd, turn := rand.New(rand.NewSource(4)), 0
	for _, name := range slices.Sorted(maps.Keys(ported)) {
		for _, ranks := range []int{2, 3, 8} {
			for _, proto := range []ir.Protocol{ir.Simple, ir.LL} {
				if turn++; !d.takes(turn - 1) {
					continue
				}
				r := mustPort(t, d, name, ranks, proto, plan.Options{})
				for range d.times(6, 40) {
					elems := int64(rnd.Intn(1 << (2 + rnd.Intn(d.times(12, 16)))))
					if r.plan.Even() {
						elems *= int64(r.plan.Program().Coll.Chunks)
					}
					dt, replicas, tile := data.DType(rnd.Intn(int(data.NumDTypes))), rnd.Intn(5), int64(16*rnd.Intn(60))
					set := func(a *plan.CallArgs) { a.Replicas, a.TileBytes = replicas, tile }
					if err := r.once(soon(t), dt, data.Max, elems, set); err != nil {
						t.Fatalf("%s of %d ranks, %v, passes of %d: %v", name, ranks, proto, tile, err)
					}
				}
				if d.StandIn() || (proto == ir.LL) != (ranks == 3) {
					continue
				}
				if err := r.once(soon(t), data.BF16, data.Max, 1<<17*int64(r.plan.Program().Coll.Chunks), nil); err != nil {
					t.Fatalf("%s of %d ranks, %v, much: %v", name, ranks, proto, err)
				}
			}
		}
	}
}

// testPortGraphs replays captured launches, between others.
func testPortGraphs(t *testing.T, d Device) {
	r := mustPort(t, d, "gather", 4, ir.Simple, plan.Options{})
	j, other := r.mustBind(t, 1003, func(a *plan.CallArgs) { a.Replicas, a.TileBytes = 2, 160 }), r.mustBind(t, 77, nil)
	graphs := j.captured(t, 3)
	for range d.times(5, 100) {
		if err := errors.Join(j.fill(), other.fill(), j.replay(graphs), other.launch(), j.replay(graphs),
			r.plan.Wait(soon(t)), j.compare(), other.compare()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.plan.Reset(t.Context()), j.fill(), j.replay(graphs), r.plan.Wait(soon(t)),
		j.compare()); err != nil {
		t.Errorf("after a reset: %v", err)
	}
}

// testPortLate has ranks of one GPU come alone, several launches one after another, some cut short by a context: the
// plan works again after a reset, with lanes in which copies were left.
func testPortLate(t *testing.T, d Device) {
	r := mustPort(t, d, "mixed", 4, ir.Simple, plan.Options{})
	r.needsTwo(t)
	j := r.mustBind(t, 3001*4, func(a *plan.CallArgs) { a.Replicas, a.TileBytes = 3, 96 })
	for i := range 4 {
		if err := errors.Join(r.plan.SetWait(30*time.Millisecond), j.fill()); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := j.call.Launch(r.streams[i%len(r.streams)]); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Millisecond+time.Millisecond)
		if err := r.plan.Wait(ctx); err == nil {
			t.Error("ranks that came alone ended well")
		}
		cancel()
		if err := errors.Join(r.plan.Reset(t.Context()), r.plan.SetWait(time.Minute), j.run(soon(t))); err != nil {
			t.Fatalf("after that: %v", err)
		}
	}
}

// testPortTrace has a launch that is traced copy by its port.
func testPortTrace(t *testing.T, d Device) {
	p, err := portProgram("mixed", 4, ir.Simple)
	if err != nil {
		t.Fatal(err)
	}
	l, trace := d.load(t, p), &executor.Trace{}
	err = check(l, p.Coll, data.I32, data.Sum, 4004,
		func(a *executor.Args) { a.Trace, a.Replicas, a.TileBytes = trace, 3, 256 })
	if d.Name == "hip" && errors.Is(err, executor.ErrNotSupported) {
		return
	}
	if err != nil || len(trace.Spans) == 0 {
		t.Errorf("%d spans, %v", len(trace.Spans), err)
	}
}

// testPortPlans has plans with and without a port run at once.
func testPortPlans(t *testing.T, d Device) {
	rigs := []*rig{mustPort(t, d, "all", 4, ir.Simple, plan.Options{}),
		mustPort(t, d, "mixed", 4, ir.LL, plan.Options{}), mustRig(t, d,
			mustProgram(t, ranked("allgather/allpairs", 4, ir.LL, false)), plan.Options{GPUs: d.Open(numbers()...)})}
	var jobs []*job
	for _, r := range rigs {
		j := r.mustBind(t, 3001, func(a *plan.CallArgs) { a.Replicas = 3 })
		if err := j.fill(); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	launchAll(t, jobs, d.times(10, 300))
}

// testPortProcesses has a process for each rank, whose proxies copy to the others' memory.
func testPortProcesses(t *testing.T, _ Device) {
	for i, c := range startJob(t, "portRank", ir.Simple, nil) {
		if code, said := c.end(t); code != 0 {
			t.Errorf("process %d: %s", i, said)
		}
	}
}

func childPortRank(ctx context.Context, d Device, r role) error {
	x, err := exchange.Join(ctx, exchange.At(r.Address), r.Index, r.Size)
	if err != nil {
		return err
	}
	for _, name := range []string{"all", "pull", "mixed"} {
		p, err := portProgram(name, r.Size, r.Proto)
		if err != nil {
			return err
		}
		gpus, err := d.Open().GPUs()
		if err != nil {
			return err
		}
		own := d.Open(r.Index % min(2, len(gpus)))
		g, err := newRig(ctx, d, p, plan.Options{GPUs: own, Exchange: x, Unproven: true})
		if err != nil {
			return err
		}
		for k := range 5 {
			if err := g.once(ctx, data.I32, data.Sum, int64(k*1001)*int64(r.Size), nil); err != nil {
				return err
			}
			if _, err := x.AllGather(ctx, nil); err != nil {
				return err
			}
		}
		if err := g.Close(); err != nil {
			return err
		}
	}
	return x.Close()
}

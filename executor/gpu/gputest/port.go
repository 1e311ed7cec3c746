package gputest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"mscclc"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/ir"
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
func portProgram(name string, ranks int, proto ir.Protocol) (*ir.Program, error) {
	text := ported[name]
	if name == "alone" {
		text = alone
	}
	return mscclc.Compile(name+".mscl", []byte("algorithm a(ranks = 2)\ncollective "+text), mscclc.Options{OneSided: true,
		Lang: lang.Options{Params: lang.Params{"ranks": ranks}, Protocol: &proto}})
}

func mustPort(t testing.TB, d Device, name string, ranks int, proto ir.Protocol, opt executor.PlanOptions) *rig {
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
				r := mustPort(t, d, name, ranks, proto, executor.PlanOptions{})
				for range d.times(6, 40) {
					elems := int64(rnd.Intn(1 << (2 + rnd.Intn(d.times(12, 16)))))
					if r.plan.Even() {
						elems *= int64(r.plan.Program().Coll.Chunks)
					}
					dt, columns, tile := data.DType(rnd.Intn(int(data.NumDTypes))), rnd.Intn(5), int64(16*rnd.Intn(60))
					set := func(a *executor.CallArgs) { a.Columns, a.TileBytes = columns, tile }
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
	r := mustPort(t, d, "gather", 4, ir.Simple, executor.PlanOptions{})
	j, other := r.mustBind(t, 1003, func(a *executor.CallArgs) { a.Columns, a.TileBytes = 2, 160 }), r.mustBind(t, 77, nil)
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

// testPortLate has ranks of one GPU come alone, several launches behind each other, some cut short by a context: the
// plan works again after a reset, with lanes in which copies were left.
func testPortLate(t *testing.T, d Device) {
	r := mustPort(t, d, "mixed", 4, ir.Simple, executor.PlanOptions{})
	r.needsTwo(t)
	j := r.mustBind(t, 3001*4, func(a *executor.CallArgs) { a.Columns, a.TileBytes = 3, 96 })
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
		func(a *executor.Args) { a.Trace, a.Columns, a.TileBytes = trace, 3, 256 })
	if d.Name == "hip" && errors.Is(err, executor.ErrNotSupported) {
		return
	}
	if err != nil || len(trace.Spans) == 0 {
		t.Errorf("%d spans, %v", len(trace.Spans), err)
	}
}

// testPortPlans has plans with and without a port run at once.
func testPortPlans(t *testing.T, d Device) {
	rigs := []*rig{mustPort(t, d, "all", 4, ir.Simple, executor.PlanOptions{}),
		mustPort(t, d, "mixed", 4, ir.LL, executor.PlanOptions{}), mustRig(t, d,
			mustProgram(t, ranked("allgather/allpairs", 4, ir.LL, false)), executor.PlanOptions{GPUs: d.Open(numbers()...)})}
	var jobs []*job
	for _, r := range rigs {
		j := r.mustBind(t, 3001, func(a *executor.CallArgs) { a.Columns = 3 })
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
	x, err := exchange.Join(ctx, r.Address, r.Index, r.Size)
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
		g, err := newRig(ctx, d, p, executor.PlanOptions{GPUs: own, Exchange: x, Unproven: true})
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

// copyCall is the call that a proxy makes.
func (d Device) copyCall() string {
	if d.Name == "hip" {
		return "hipMemcpyDtoDAsync"
	}
	return "cuMemcpyDtoDAsync_v2"
}

// testPortFails has copies fail, and the calls that tell of their ends: the launch ends with that error, and
// the plan works again after a reset.
func testPortFails(t *testing.T, d Device) {
	if !d.StandIn() {
		t.Skip("a driver's calls cannot be made to fail")
	}
	raise := strings.Replace(strings.Replace(d.copyCall(), "MemcpyDtoDAsync", "StreamWriteValue64", 1), "_v2", "", 1)
	if d.Name == "cuda" {
		raise += "_v2"
	}
	for _, call := range []string{d.copyCall(), raise} {
		for _, nth := range []int{9, 11, 18} { // behind the first of each stream, which Prepare makes
			code, said := start(t, role{Do: "port", Env: []string{fmt.Sprintf("MSCCLC_STANDIN_FAIL=%s:%d", call, nth)}}).end(t)
			if code != 0 || !strings.Contains(said, "by the port: unknown error (driver error 999)") ||
				!strings.Contains(said, "again: <nil>") {
				t.Errorf("%s, call %d: %d %s", call, nth, code, said)
			}
		}
	}
}

// testPortStuck has a proxy stop: a call of the driver does not return. The launch runs out of time at the step whose
// copy it was, and so does closing the plan.
func testPortStuck(t *testing.T, d Device) {
	if !d.StandIn() {
		t.Skip("a driver's calls cannot be made to hang")
	}
	for do, want := range map[string][]string{
		"port":      {"all.mscl:3:", "block 0 step"},
		"portAlone": {"alone.mscl:4:", "rank 0 block 0 step", "(mv): waited 3", "for the port to copy to rank 1's scratch from 0 on"},
	} {
		begin, nth := time.Now(), 11
		if do == "portAlone" {
			nth = 5
		}
		code, said := start(t,
			role{Do: do, Env: []string{fmt.Sprintf("MSCCLC_STANDIN_FAIL=%s:%d:4242", d.copyCall(), nth)}}).end(t)
		for _, w := range append(want, "[timeout]", "again: GPU", "stopping the port",
			"close: the plan's memory is left as it is") {
			if !strings.Contains(said, w) {
				t.Errorf("%q is not in %d %s", w, code, said)
			}
		}
		if took := time.Since(begin); code != 0 || took > 40*time.Second {
			t.Errorf("code %d, after %v", code, took)
		}
	}
}

// childPort runs a program until it fails, once more behind a reset, and closes it.
func childPort(ctx context.Context, d Device, r role) error {
	name, ranks, wait := "all", 4, 5*time.Second
	if r.Do == "portAlone" {
		name, ranks, wait = "alone", 2, 300*time.Millisecond
	}
	p, err := portProgram(name, ranks, ir.Simple)
	if err != nil {
		return err
	}
	g, err := newRig(ctx, d, p, executor.PlanOptions{GPUs: d.Open(0, 1), Unproven: true})
	if err != nil {
		return err
	}
	j, err := g.bind(ctx, data.I32, data.Sum, 4004, func(a *executor.CallArgs) { a.Columns, a.TileBytes = 2, 512 })
	if err != nil {
		return err
	}
	if err := g.plan.SetWait(wait); err != nil {
		return err
	}
	begin := time.Now()
	var failed error
	if r.Do == "portAlone" {
		failed = errors.Join(j.fill(), j.call.Launch(g.streams[0]), g.plan.Wait(ctx))
	} else {
		failed = j.run(ctx)
	}
	if failed == nil {
		return errors.New("it did not fail")
	}
	fmt.Println("heard:", failed)
	if strings.Contains(failed.Error(), "error 999") && time.Since(begin) > 4*time.Second {
		return fmt.Errorf("a copy that failed was told after %v", time.Since(begin))
	}
	if err = g.plan.Reset(ctx); err == nil {
		err = j.run(ctx)
	}
	fmt.Println("again:", err)
	if err := errors.Join(j.close(), g.Close()); err != nil {
		fmt.Println("close:", err)
	}
	return nil
}

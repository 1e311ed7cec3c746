package gputest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang"
)

// timedOut checks that err is of a step that timed out, with its source line.
func timedOut(t testing.TB, err error, want ...string) {
	t.Helper()
	var list diag.List
	if !errors.As(err, &list) || list[0].Code != diag.Timeout || list[0].Rank < 0 || list[0].Block < 0 ||
		list[0].Step < 0 || list[0].Span.Pos.Line == 0 {
		t.Fatalf("it is no timeout of a step: %v", err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got %v, and not %q", err, w)
		}
	}
}

// oneLate returns a rig of two GPUs, or where there is one of ranks that never come: on one
// GPU all ranks are launched together.
func oneLate(t testing.TB, d Device, s shape) *rig {
	r := mustRig(t, d, mustProgram(t, s), plan.Options{GPUs: d.Open(numbers()...)})
	r.needsTwo(t)
	return r
}

// needsTwo skips a test in which ranks are late where all are launched together.
func (r *rig) needsTwo(t testing.TB) {
	t.Helper()
	if len(r.streams) < 2 {
		t.Skip("on one GPU no rank is late")
	}
}

// pairs returns a program of two ranks, whose waits last until both are there.
func pairs(proto ir.Protocol) shape { return ranked("allreduce/allpairs", 2, proto, false) }

// testLateRank leaves out a rank: the others say what they waited for, and the plan works
// again after that.
func testLateRank(t *testing.T, d Device) {
	for _, s := range both(pairs(ir.LL), pairs(ir.Simple), pairs(ir.LL128)) {
		r := oneLate(t, d, s)
		j := r.mustBind(t, 1003, nil)
		for k := range 3 {
			if err := errors.Join(j.run(soon(t)), r.plan.SetWait(30*time.Millisecond), j.fill(),
				j.call.Launch(r.streams[0])); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			want := []string{"rank 0 block", "waited", "from rank 1"}
			if s.two {
				want = []string{"rank 0 block", "waited", "message 1 of connection", "1->0"}
			}
			timedOut(t, r.plan.Wait(soon(t)), want...)
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if err := j.call.Launch(r.streams[0]); err == nil {
				t.Error("a plan that has failed takes launches")
			}
			timedOut(t, r.plan.Err())
			if err := errors.Join(r.plan.Reset(t.Context()), r.plan.SetWait(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(r.plan.Err(), j.run(soon(t))); err != nil {
				t.Fatalf("%v, time %d, after that: %v", s, k, err)
			}
		}
	}
}

// testCutShort ends a wait by its context.
func testCutShort(t *testing.T, d Device) {
	for _, s := range both(pairs(ir.LL)) {
		r := oneLate(t, d, s)
		j := r.mustBind(t, 1003, nil)
		if err := errors.Join(j.fill(), j.call.Launch(r.streams[1])); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := r.plan.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		if err := errors.Join(r.plan.Reset(t.Context()), j.run(soon(t))); err != nil {
			t.Error(err)
		}
	}
}

// testWaitInGraph changes how long waits may last of what is captured, and of what runs.
func testWaitInGraph(t *testing.T, d Device) {
	for _, s := range both(pairs(ir.LL)) {
		r := oneLate(t, d, s)
		j := r.mustBind(t, 1003, nil)
		graphs := j.captured(t, 3)
		if err := errors.Join(j.fill(), j.replay(graphs), r.plan.Wait(soon(t)), j.compare()); err != nil {
			t.Fatal(err)
		}
		if err := graphs[0].Launch(r.streams[0]); err != nil {
			t.Fatal(err)
		}
		if err := r.plan.SetWait(20 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
		timedOut(t, r.plan.Wait(soon(t)), "rank 0")
		if err := errors.Join(r.plan.Reset(t.Context()), r.plan.SetWait(time.Minute), j.fill(), j.replay(graphs),
			r.plan.Wait(soon(t)), j.compare()); err != nil {
			t.Error(err)
		}
	}
}

// testHurdles binds what cannot be bound, and prepares what cannot be prepared.
func testHurdles(t *testing.T, d Device) {
	r := mustRig(t, d, mustProgram(t, ranked("allreduce/allpairs", 2, ir.LL, false)),
		plan.Options{GPUs: d.Open(numbers()...), Replicas: 3000, TileBytes: 64})
	refuses(t, r, map[string]func(*plan.CallArgs){
		"buffers are of":                 func(a *plan.CallArgs) { a.Input = a.Input[:1] },
		"no memory of a GPU":             func(a *plan.CallArgs) { a.Input = []uint64{16, 16} },
		"are wanted":                     func(a *plan.CallArgs) { a.Elems = 1 << 30 },
		"not aligned":                    func(a *plan.CallArgs) { a.Output = []uint64{a.Output[0] + 1, a.Output[1]} },
		"out of range":                   func(a *plan.CallArgs) { a.Replicas = 1 << 20 },
		"has room for":                   func(a *plan.CallArgs) { a.Replicas, a.Threads = 3000, 512 },
		"a GPU has them by 32":           func(a *plan.CallArgs) { a.Threads = 33 },
		"no element type":                func(a *plan.CallArgs) { a.DType = 99 },
		"elements of a piece":            func(a *plan.CallArgs) { a.Elems = -1 },
		"up to 512":                      func(a *plan.CallArgs) { a.Threads = 1024 },
		"2 and 1 ranks, of 2":            func(a *plan.CallArgs) { a.Output = a.Output[:1] },
		"output of rank 1":               func(a *plan.CallArgs) { a.Output = []uint64{a.Output[0], a.Output[1] + 1<<40} },
		"or tile iterations of -5 bytes": func(a *plan.CallArgs) { a.TileBytes = -5 },
	})
	testHurdlesOfTwo(t, d)
	ctx, two := t.Context(), mustProgram(t, shape{"allreduce/allpairs", lang.Params{"ranks": 2}, false, ir.LL, true, 0})
	for want, opt := range map[string]plan.Options{
		"no GPUs":               {},
		"there is no GPU 9":     {GPUs: d.Open(999)},
		"no replicas":           {GPUs: d.Open(), Replicas: 2},
		"-1 slots":              {GPUs: d.Open(), Slots: -1},
		"pieces of -1 bytes":    {GPUs: d.Open(), PieceBytes: -1},
		"slots are out of rang": {GPUs: d.Open(), Slots: 1 << 16, SlotBytes: 1 << 40, TileBytes: 1 << 40},
	} {
		if _, err := plan.Prepare(ctx, two, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, and not %q", err, want)
		}
	}
}

// testHurdlesOfTwo does so with a two-sided program.
func testHurdlesOfTwo(t *testing.T, d Device) {
	r := mustRig(t, d, mustProgram(t, shape{"allreduce/allpairs", lang.Params{"ranks": 2}, false, ir.LL, true, 40}),
		plan.Options{GPUs: d.Open(numbers()...)})
	refuses(t, r, map[string]func(*plan.CallArgs){
		"buffers are of":       func(a *plan.CallArgs) { a.Input = a.Input[:1] },
		"no memory of a GPU":   func(a *plan.CallArgs) { a.Input = []uint64{16, 16} },
		"are wanted":           func(a *plan.CallArgs) { a.Elems = 1 << 30 },
		"no replicas":          func(a *plan.CallArgs) { a.Replicas = 2 },
		"a GPU has them by 32": func(a *plan.CallArgs) { a.Threads = 33 },
		"tiles of -5 bytes":    func(a *plan.CallArgs) { a.TileBytes = -5 },
	})
}

// refuses binds calls that cannot be, each with an error that says why, and then runs one that can.
func refuses(t *testing.T, r *rig, calls map[string]func(*plan.CallArgs)) {
	t.Helper()
	for want, set := range calls {
		j, err := r.bind(t.Context(), data.I32, data.Sum, 1000, set)
		if err == nil {
			j.close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, and not %q", err, want)
		}
	}
	if err := r.once(soon(t), data.I32, data.Sum, 1000, nil); err != nil {
		t.Errorf("after that: %v", err)
	}
}

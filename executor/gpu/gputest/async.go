package gputest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unsafe"

	"mscclc/executor"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// mustBind binds a call of integers.
func (r *rig) mustBind(t testing.TB, elems int64, set func(*executor.CallArgs)) *job {
	t.Helper()
	j, err := r.bind(t.Context(), executor.I32, executor.Sum, elems, set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// captured are graphs of so many launches, one on each of a rig's streams.
func (j *job) captured(t testing.TB, launches int) []executor.Graph {
	t.Helper()
	var graphs []executor.Graph
	for _, s := range j.rig.streams {
		if err := s.Capture(); err != nil {
			t.Fatal(err)
		}
		for range launches {
			if err := j.call.Launch(s); err != nil {
				t.Fatal(err)
			}
		}
		g, err := s.EndCapture()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		graphs = append(graphs, g)
	}
	return graphs
}

func (j *job) replay(graphs []executor.Graph) error {
	for i, g := range graphs {
		if err := g.Launch(j.rig.streams[i]); err != nil {
			return err
		}
	}
	return nil
}

// testGraphs replays captured launches many times, between others that are not captured: a
// gather is the same however often it is done.
func testGraphs(t *testing.T, d Device) {
	for _, proto := range []ir.Protocol{ir.LL, ir.Simple} {
		r := mustRig(t, mustOne(t, ranked("allgather/allpairs", 4, proto, false)), executor.PlanOptions{GPUs: d.Open(numbers()...)})
		j, other := r.mustBind(t, 1003, nil), r.mustBind(t, 77, func(a *executor.CallArgs) { a.Columns = 3 })
		graphs := j.captured(t, 20)
		if err := errors.Join(j.fill(), other.fill()); err != nil {
			t.Fatal(err)
		}
		for i := range d.times(20, 500) {
			if err := j.replay(graphs); err != nil {
				t.Fatal(err)
			}
			if i%3 == 0 {
				if err := other.launch(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := errors.Join(r.plan.Wait(soon(t)), j.compare(), other.compare()); err != nil {
			t.Error(err)
		}
	}
}

// testStreams has a plan's launches go from stream to stream, copies and events
// between them.
func testStreams(t *testing.T, d Device) {
	r := mustRig(t, mustOne(t, ranked("allreduce/allpairs", 3, ir.LL, false)), executor.PlanOptions{GPUs: d.Open(numbers()...)})
	j := r.mustBind(t, 5001, nil)
	if err := j.fill(); err != nil {
		t.Fatal(err)
	}
	for i, s := range r.streams {
		g := s.GPU()
		begin, err1 := g.NewEvent()
		end, err2 := g.NewEvent()
		other, err3 := g.NewStream()
		if err := errors.Join(err1, err2, err3, s.Record(begin)); err != nil {
			t.Fatal(err)
		}
		foreign := g.StreamOf(other.Handle())
		if foreign.Handle() != other.Handle() {
			t.Error("another library's stream is not what it was")
		}
		for k := range 30 {
			if err := j.call.Launch([]executor.Stream{s, other, foreign}[(k+i)%3]); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(other.Record(end), s.Await(end), foreign.Close()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if took, err := end.Since(begin); err != nil || took <= 0 || took > time.Minute {
				t.Errorf("%v: it took %v: %v", g, took, err)
			}
			if err := errors.Join(begin.Close(), end.Close(), other.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	if err := errors.Join(r.plan.Wait(soon(t)), r.streams[0].Sync(soon(t)), j.compare()); err != nil {
		t.Error(err)
	}
	if busy, err := r.streams[0].Busy(); busy || err != nil {
		t.Error("a stream is busy, or broken:", err)
	}
}

// testTwoPlans has two plans run on streams of their own at once.
func testTwoPlans(t *testing.T, d Device) {
	var jobs []*job
	for _, s := range []shape{ranked("allgather/allpairs", 4, ir.LL, false), ranked("allreduce/allpairs", 4, ir.Simple, false)} {
		r := mustRig(t, mustOne(t, s), executor.PlanOptions{GPUs: d.Open(numbers()...)})
		j := r.mustBind(t, 3001, func(a *executor.CallArgs) { a.Columns = 4 })
		if err := j.fill(); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	for range d.times(30, 1000) {
		for _, j := range jobs {
			if err := j.launch(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, j := range jobs {
		if err := errors.Join(j.rig.plan.Wait(soon(t)), j.compare()); err != nil {
			t.Error(err)
		}
	}
}

// testMemory asks whose memory is whose, and does on streams what can be done with it.
func testMemory(t *testing.T, d Device) {
	gpus, err := d.Open(numbers()...).GPUs()
	if err != nil {
		t.Fatal(err)
	}
	g := gpus[0]
	if v, err := d.Open().Driver(); err != nil || v == "" {
		t.Errorf("the driver's version: %q %v", v, err)
	}
	a, err := g.Alloc(1 << 12)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Free(a)
	host := make([]byte, 64)
	for _, c := range []struct {
		address uint64
		bytes   int64
		want    string
	}{{a, 1 << 12, ""}, {a + 8, 8, ""}, {0, 0, ""}, {a + 16, 1 << 40, "its memory has"}, {uint64(uintptr(unsafe.Pointer(&host[0]))), 64, "no memory of a GPU"}} {
		if err := g.Owns(c.address, c.bytes); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d bytes: %v, and not %q", c.bytes, err, c.want)
		}
	}
	if len(gpus) > 1 {
		if err := gpus[1].Owns(a, 8); err == nil || !strings.Contains(err.Error(), "is memory of GPU 0") {
			t.Errorf("on another GPU: %v", err)
		}
	}
	s, err := g.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := errors.Join(s.Fill(a, 7, 32), s.Put(a+32, []byte("what a host has")), s.Copy(a+128, a+30, 8), s.Get(host, a+128)); err != nil {
		t.Fatal(err)
	}
	if string(host[:8]) != "\x07\x07what a" || host[8] != 0 {
		t.Errorf("got %q", host)
	}
	if _, err := g.Alloc(1 << 50); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("too much memory: %v", err)
	}
}

// testHurdles binds what cannot be bound, and prepares what cannot be prepared.
func testHurdles(t *testing.T, d Device) {
	r := mustRig(t, mustOne(t, ranked("allreduce/allpairs", 2, ir.LL, false)), executor.PlanOptions{GPUs: d.Open(numbers()...), Columns: 3000, TileBytes: 64})
	for want, set := range map[string]func(*executor.CallArgs){
		"buffers are of":        func(a *executor.CallArgs) { a.Input = a.Input[:1] },
		"no memory of a GPU":    func(a *executor.CallArgs) { a.Input = []uint64{16, 16} },
		"are wanted":            func(a *executor.CallArgs) { a.Elems = 1 << 30 },
		"not aligned":           func(a *executor.CallArgs) { a.Output = []uint64{a.Output[0] + 1, a.Output[1]} },
		"out of range":          func(a *executor.CallArgs) { a.Columns = 1 << 20 },
		"has room for":          func(a *executor.CallArgs) { a.Columns, a.Threads = 3000, 512 },
		"a GPU has them by 32":  func(a *executor.CallArgs) { a.Threads = 33 },
		"no element type":       func(a *executor.CallArgs) { a.DType = 99 },
		"elements of a piece":   func(a *executor.CallArgs) { a.Elems = -1 },
		"up to 512":             func(a *executor.CallArgs) { a.Threads = 1024 },
		"2 and 1 ranks, of 2":   func(a *executor.CallArgs) { a.Output = a.Output[:1] },
		"output of rank 1":      func(a *executor.CallArgs) { a.Output = []uint64{a.Output[0], a.Output[1] + 1<<20} },
		"or passes of -5 bytes": func(a *executor.CallArgs) { a.TileBytes = -5 },
	} {
		j, err := r.bind(t.Context(), executor.I32, executor.Sum, 1000, set)
		if err == nil {
			j.close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, and not %q", err, want)
		}
	}
	if err := r.once(soon(t), executor.I32, executor.Sum, 1000, nil); err != nil {
		t.Errorf("after that: %v", err)
	}
	ctx, two := t.Context(), mustTwo(t)
	for want, opt := range map[string]executor.PlanOptions{
		"no GPUs":           {},
		"there is no GPU 9": {GPUs: d.Open(999)},
		"is two-sided":      {GPUs: d.Open()},
	} {
		p := r.plan.Program()
		if want == "is two-sided" {
			p = two
		}
		if _, err := executor.Prepare(ctx, p, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, and not %q", err, want)
		}
	}
}

func mustTwo(t testing.TB) *ir.Program { return must(t, "allreduce/ring", 2, true) }

// timedOut checks that err is of a step that timed out, with its source line.
func timedOut(t testing.TB, err error, want ...string) {
	t.Helper()
	var list diag.List
	if !errors.As(err, &list) || list[0].Code != diag.Timeout || list[0].Rank < 0 || list[0].Block < 0 || list[0].Step < 0 || list[0].Span.Pos.Line == 0 {
		t.Fatalf("it is no timeout of a step: %v", err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got %v, and not %q", err, w)
		}
	}
}

// oneLate is a rig of two GPUs, or where there is one of ranks that never come: on one
// GPU all ranks are launched together.
func oneLate(t testing.TB, d Device, proto ir.Protocol) *rig {
	r := mustRig(t, mustOne(t, ranked("allreduce/allpairs", 2, proto, false)), executor.PlanOptions{GPUs: d.Open(numbers()...)})
	if len(r.streams) < 2 {
		t.Skip("on one GPU no rank is late")
	}
	return r
}

// testLateRank leaves out a rank: the others say what they waited for, and the plan works
// again after that.
func testLateRank(t *testing.T, d Device) {
	for _, proto := range []ir.Protocol{ir.LL, ir.Simple} {
		r := oneLate(t, d, proto)
		j := r.mustBind(t, 1003, nil)
		for range 3 {
			if err := errors.Join(r.plan.SetWait(30*time.Millisecond), j.fill(), j.call.Launch(r.streams[0])); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			timedOut(t, r.plan.Wait(soon(t)), "rank 0 block 0 step", "from rank 1", "waited")
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
				t.Fatalf("after that: %v", err)
			}
		}
	}
}

// testCutShort ends a wait by its context.
func testCutShort(t *testing.T, d Device) {
	r := oneLate(t, d, ir.LL)
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

// testWaitInGraph changes how long waits may last of what is captured, and of what runs.
func testWaitInGraph(t *testing.T, d Device) {
	r := oneLate(t, d, ir.LL)
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
	if err := errors.Join(r.plan.Reset(t.Context()), r.plan.SetWait(time.Minute), j.fill(), j.replay(graphs), r.plan.Wait(soon(t)), j.compare()); err != nil {
		t.Error(err)
	}
}

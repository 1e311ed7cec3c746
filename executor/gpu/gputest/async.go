package gputest

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/lang"
)

// mustBind binds a call of integers.
func (r *rig) mustBind(t testing.TB, elems int64, set func(*plan.CallArgs)) *job {
	t.Helper()
	j, err := r.bind(t.Context(), data.I32, data.Sum, elems, set)
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

// captured are graphs of a number of launches, one on each of a rig's streams.
func (j *job) captured(t testing.TB, launches int) []executor.Graph {
	t.Helper()
	return j.rig.interleaved(t, []*job{j}, launches)
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
	for _, s := range append(both(ranked("allgather/allpairs", 4, ir.LL, false),
		ranked("allgather/allpairs", 4, ir.Simple, false)), shape{"allreduce/ring", lang.Params{"ranks": 3}, false,
		ir.LL128, true, 0}, shape{"allreduce/allpairs", lang.Params{"ranks": 4}, false, ir.LL, true, 2}) {
		r := mustRig(t, d, mustProgram(t, s), plan.Options{GPUs: d.Open(numbers()...)})
		j, other := r.mustBind(t, 1003*int64(r.plan.Program().Coll.Chunks), nil), r.mustBind(t, 76, s.replicas(3))
		graphs := j.captured(t, 20)
		if err := errors.Join(j.fill(), other.fill()); err != nil {
			t.Fatal(err)
		}
		for i := range d.times(covering.Share(50), 500) { // hundreds of launches, or thousands
			if !d.takes(i) {
				continue
			}
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
			t.Errorf("%v: %v", s, err)
		}
	}
}

// testManyReplays replays small two-sided launches thousands of times: slots and counters
// go round and round.
func testManyReplays(t *testing.T, d Device) {
	for _, proto := range []ir.Protocol{ir.Simple, ir.LL, ir.LL128} {
		r := mustRig(t, d, mustProgram(t, shape{"allreduce/ring", lang.Params{"ranks": 2}, false, proto, true, 0}),
			plan.Options{GPUs: d.Open(numbers()...)})
		j := r.mustBind(t, 50, nil)
		graphs := j.captured(t, 100)
		if err := j.fill(); err != nil {
			t.Fatal(err)
		}
		for i := range d.times(50, 1000) {
			if !d.takes(i) {
				continue
			}
			if err := j.replay(graphs); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(r.plan.Wait(soon(t)), j.compare()); err != nil {
			t.Errorf("%v: %v", proto, err)
		}
	}
}

// testScratch binds calls of a two-sided program whose scratch grows, and runs them in turns.
func testScratch(t *testing.T, d Device) {
	for _, piece := range []int64{0, 12000} {
		r := mustRig(t, d, mustProgram(t, shape{"allreduce/allpairs", lang.Params{"ranks": 4}, false, ir.LL, true, 0}),
			plan.Options{GPUs: d.Open(numbers()...), PieceBytes: piece})
		var jobs []*job
		for _, elems := range []int64{100, 3000, 7, 40000, 1001} {
			jobs = append(jobs, r.mustBind(t, elems, nil))
		}
		for _, j := range jobs {
			if err := j.fill(); err != nil {
				t.Fatal(err)
			}
		}
		for k := range 20 {
			if err := jobs[k*k%len(jobs)].launch(); err != nil {
				t.Fatal(err)
			}
		}
		for _, j := range jobs {
			if err := errors.Join(j.launch(), r.plan.Wait(soon(t)), j.compare()); err != nil {
				t.Error(err)
			}
		}
	}
}

// testStreams has a plan's launches go from stream to stream, copies and events
// between them.
func testStreams(t *testing.T, d Device) {
	for _, s := range both(ranked("allreduce/allpairs", 3, ir.LL, false)) {
		t.Run(s.String(), func(t *testing.T) { testStreamsOf(t, d, s) })
	}
}

func testStreamsOf(t *testing.T, d Device, of shape) {
	r := mustRig(t, d, mustProgram(t, of), plan.Options{GPUs: d.Open(numbers()...)})
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

// testTwoPlans has plans of both kinds run on streams of their own at once.
func testTwoPlans(t *testing.T, d Device) {
	var jobs []*job
	for _, s := range both(ranked("allgather/allpairs", 4, ir.LL, false),
		ranked("allreduce/allpairs", 4, ir.Simple, false)) {
		r := mustRig(t, d, mustProgram(t, s), plan.Options{GPUs: d.Open(numbers()...)})
		j := r.mustBind(t, 3001, s.replicas(4))
		if err := j.fill(); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	launchAll(t, jobs, d.times(30, 1000))
}

// launchAll launches calls of several plans in turn, a number of times, and checks the result of each.
func launchAll(t *testing.T, jobs []*job, times int) {
	t.Helper()
	for range times {
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
	}{{a, 1 << 12, ""}, {a + 8, 8, ""}, {0, 0, ""}, {a + 16, 1 << 40, "its memory has"},
		{uint64(uintptr(unsafe.Pointer(&host[0]))), 64, "no memory of a GPU"}} {
		if err := g.Owns(c.address, c.bytes); (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
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
	if err := errors.Join(s.Fill(a, 7, 32), s.Put(a+32, []byte("what a host has")), s.Copy(a+128, a+30, 8),
		s.Get(host, a+128)); err != nil {
		t.Fatal(err)
	}
	if string(host[:8]) != "\x07\x07what a" || host[8] != 0 {
		t.Errorf("got %q", host)
	}
	if _, err := g.Alloc(1 << 50); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("too much memory: %v", err)
	}
}

package gputest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/plan"
)

// A feeder launches on one GPU, so often that the stream's queue is full, and counts.
type feeder struct {
	launch func() error
	done   atomic.Int64
}

func (f *feeder) feed(times int) error {
	for range times {
		if err := f.launch(); err != nil {
			return err
		}
		f.done.Add(1)
	}
	return nil
}

// stuck waits until a feeder has not come on for a while.
func (f *feeder) stuck(ctx context.Context, t testing.TB) {
	t.Helper()
	for before, since := int64(0), time.Now(); time.Since(since) < 100*time.Millisecond; time.Sleep(time.Millisecond) {
		if n := f.done.Load(); n == 0 || n != before {
			before, since = n, time.Now()
		}
		if ctx.Err() != nil {
			t.Fatal("nothing is launched")
		}
	}
}

// feedAll has a thread for each GPU launch: that of the first until its queue is full, where the driver has it
// wait for kernels that wait for those of the second GPU; then does something beside it, and only then has the
// second launch.
func feedAll(t *testing.T, d Device, times int, launch func(gpu int) error, beside func() error) {
	ctx := soon(t)
	feeders := [2]*feeder{{launch: func() error { return launch(0) }}, {launch: func() error { return launch(1) }}}
	var wait sync.WaitGroup
	run := func(f func() error) {
		wait.Go(func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
	}
	run(func() error { return feeders[0].feed(times) })
	feeders[0].stuck(ctx, t)
	if d.StandIn() && int(feeders[0].done.Load()) == times {
		t.Errorf("a queue holds more than %d launches", times)
	}
	over := make(chan bool)
	run(func() error { defer close(over); return beside() })
	if d.StandIn() { // a driver may have that wait too
		select {
		case <-over:
		case <-time.After(5 * time.Second):
			t.Error("calls of another plan wait for a launch that waits for room")
		}
	}
	run(func() error { return feeders[1].feed(times) })
	wait.Wait()
}

// testFullQueue fills the queue of one GPU before the other has anything, with launches and with graphs: on a
// machine that is not oversubscribed, on one that is, and on one that becomes so meanwhile.
func testFullQueue(t *testing.T, d Device) {
	for _, of := range []struct {
		name                string
		graphs, over, comes bool
	}{{"launches", false, false, false}, {"graphs", true, false, false}, {"oversubscribed", false, true, false},
		{"oversubscribed graphs", true, true, false}, {"becomes oversubscribed", false, false, true},
		{"becomes oversubscribed, graphs", true, false, true}} {
		t.Run(of.name, func(t *testing.T) { newFull(t, d, oversubscribing()[0]).run(t, d, of.graphs, of.over, of.comes) })
	}
}

// A full is two plans with a small call each. Large ones, of which a GPU has room for one, oversubscribe it
// when both are bound; the first plan's is.
type full struct {
	rigs  [2]*rig
	jobs  [2]*job
	other *plan.Call // of the second plan, bound beside a launch that waits for room
}

func newFull(t testing.TB, d Device, shapes [2]shape) *full {
	f := &full{}
	for i, s := range shapes {
		r := mustRig(t, d, mustProgram(t, s), plan.Options{GPUs: d.Open(numbers()...), Replicas: 100})
		if len(r.streams) < 2 {
			t.Skip("on one GPU nothing waits for another")
		}
		if err := r.plan.SetWait(10 * time.Second); err != nil {
			t.Fatal(err)
		}
		f.rigs[i], f.jobs[i] = r, r.mustBind(t, 40, small)
		if err := f.jobs[i].fill(); err != nil {
			t.Fatal(err)
		}
	}
	f.rigs[0].mustBind(t, 40, large)
	return f
}

func small(a *plan.CallArgs) { a.Replicas, a.Threads = 1, 32 }
func large(a *plan.CallArgs) { a.Replicas, a.Threads = 100, 512 }

func (f *full) run(t *testing.T, d Device, graphs, over, comes bool) {
	jobs := f.jobs[:1]
	if over {
		f.rigs[1].mustBind(t, 40, large)
		jobs = f.jobs[:]
	}
	beside := f.bindOther
	if comes {
		beside = f.runOther
	}
	feedAll(t, d, d.times(300, 3000), launchers(t, jobs, graphs), beside)
	for _, r := range f.rigs {
		if err := r.plan.Wait(soon(t)); err != nil {
			t.Fatal(err)
		}
	}
	if comes {
		jobs = f.jobs[:]
		if err := f.other.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, j := range jobs {
		if err := j.compare(); err != nil {
			t.Error(err)
		}
	}
}

// launchers launch calls on a GPU, on each in another order, as they are or by graphs of two launches.
func launchers(t testing.TB, jobs []*job, graphs bool) func(gpu int) error {
	captured := make([][]executor.Graph, len(jobs))
	for i, j := range jobs {
		if graphs {
			captured[i] = j.captured(t, 2)
		}
	}
	return func(gpu int) (err error) {
		for k := range jobs {
			i := (gpu + k) % len(jobs)
			s := jobs[i].rig.streams[gpu]
			if graphs {
				err = errors.Join(err, captured[i][gpu].Launch(s))
			} else {
				err = errors.Join(err, jobs[i].call.Launch(s))
			}
		}
		return err
	}
}

// bindOther binds a call of the second plan and closes it.
func (f *full) bindOther() error {
	if err := f.bind(small); err != nil {
		return err
	}
	return f.other.Close()
}

// runOther binds one that oversubscribes the machine, and then launches the small one.
func (f *full) runOther() error {
	if err := f.bind(large); err != nil {
		return err
	}
	return f.jobs[1].launch()
}

func (f *full) bind(set func(*plan.CallArgs)) (err error) {
	j := f.jobs[1]
	args := plan.CallArgs{DType: data.I32, RedOp: data.Sum, Elems: 40, Input: j.input, Output: j.output}
	set(&args)
	f.other, err = j.rig.plan.Bind(context.Background(), args)
	return err
}

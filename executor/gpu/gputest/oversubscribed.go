package gputest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/plan"
	"mscclc/ir"
)

// oversubscribing returns pairs of plans that do not fit together on a GPU: 100 blocks each.
func oversubscribing() [][2]shape {
	one, two := both(pairs(ir.LL)), ranked("allgather/allpairs", 2, ir.Simple, false)
	one[1].times = 100
	return [][2]shape{{one[0], two}, {one[1], two}}
}

func bindBoth(t testing.TB, d Device, shapes [2]shape) [2]*job {
	var jobs [2]*job
	for i, s := range shapes {
		opt := plan.Options{GPUs: d.Open(numbers()...)}
		if !s.two {
			opt.Replicas = 100
		}
		r := mustRig(t, d, mustProgram(t, s), opt)
		if len(r.streams) < 2 {
			t.Skip("on one GPU there is one order")
		}
		jobs[i] = r.mustBind(t, 20000, func(a *plan.CallArgs) {
			s.replicas(100)(a)
			a.Threads = 512
		})
		if err := errors.Join(jobs[i].fill(), r.plan.SetWait(20*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return jobs
}

func finish(t testing.TB, jobs [2]*job) {
	t.Helper()
	for _, j := range jobs {
		if err := errors.Join(j.rig.plan.Wait(soon(t)), j.compare()); err != nil {
			t.Fatal(err)
		}
	}
}

// testOversubscribed starts two plans in opposite orders on two GPUs, by one thread and by one
// for each GPU.
func testOversubscribed(t *testing.T, d Device) {
	for _, shapes := range oversubscribing() {
		t.Run(shapes[0].String(), func(t *testing.T) { testOversubscribedOf(t, bindBoth(t, d, shapes), d) })
	}
}

func testOversubscribedOf(t *testing.T, jobs [2]*job, d Device) {
	launch := func(gpu int, order ...int) {
		for _, i := range order {
			if err := jobs[i].call.Launch(jobs[i].rig.streams[gpu]); err != nil {
				t.Error(err)
			}
		}
	}
	for range d.times(5, 100) {
		launch(0, 0, 1)
		launch(1, 1, 0)
		launch(0, 1, 0)
		launch(1, 0, 1)
	}
	finish(t, jobs)
	var wait sync.WaitGroup
	for gpu := range 2 {
		wait.Go(func() {
			for k := range d.times(10, 200) {
				launch(gpu, (gpu+k)%2, (gpu+k+1)%2)
			}
		})
	}
	wait.Wait()
	finish(t, jobs)
}

// testOversubscribedGraphs does so with graphs.
func testOversubscribedGraphs(t *testing.T, d Device) {
	for _, shapes := range oversubscribing() {
		t.Run(shapes[0].String(), func(t *testing.T) { testOversubscribedGraphsOf(t, bindBoth(t, d, shapes), d) })
	}
}

func testOversubscribedGraphsOf(t *testing.T, jobs [2]*job, d Device) {
	var graphs [2][]executor.Graph
	for i, j := range jobs {
		graphs[i] = j.captured(t, 3)
	}
	for range d.times(4, 100) {
		for gpu := range 2 {
			for k := range 2 {
				i := (gpu + k) % 2
				if err := graphs[i][gpu].Launch(jobs[i].rig.streams[gpu]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := jobs[0].launch(); err != nil {
			t.Fatal(err)
		}
	}
	finish(t, jobs)
}

// testWrongOrder starts them in opposite orders on one stream a GPU, which nothing can
// save: it ends in time, names a step, and both work again.
func testWrongOrder(t *testing.T, d Device) {
	for _, shapes := range oversubscribing() {
		t.Run(shapes[0].String(), func(t *testing.T) { testWrongOrderOf(t, bindBoth(t, d, shapes), d) })
	}
}

func testWrongOrderOf(t *testing.T, jobs [2]*job, d Device) {
	streams := jobs[0].rig.streams
	for _, j := range jobs {
		if err := j.rig.plan.SetWait(100 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	for gpu, order := range [2][2]int{{0, 1}, {1, 0}} {
		for _, i := range order {
			if err := jobs[i].call.Launch(streams[gpu]); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin, failed := time.Now(), 0
	for _, j := range jobs {
		if err := j.rig.plan.Wait(soon(t)); err != nil {
			timedOut(t, err)
			failed++
		}
	}
	if took := time.Since(begin); failed == 0 || took > 20*time.Second {
		t.Errorf("%d failed, in %v", failed, took)
	}
	for _, j := range jobs {
		if err := errors.Join(j.rig.plan.Reset(t.Context()), j.rig.plan.SetWait(20*time.Second), j.run(soon(t))); err != nil {
			t.Error(err)
		}
	}
}

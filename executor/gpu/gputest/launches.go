package gputest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/irtest/parse"
	"mscclc/ir/verify"
)

// testLaunches launches programs of one pass many times, alone and from graphs: each launch has sizes, data and
// replicas of its own, and copies of scratch of its own. Ranks go ahead of each other as far as the programs let them.
func testLaunches(t *testing.T, d Device) {
	ranks, nodes := []int{4}, [][2]int{{2, 2}}
	list := append(given(t, 1, 3), atLevel(t, ranks, nodes, 1, 3)...)
	for i, name := range []string{"allreduce/allpairs", "allgather/ring", "alltoall/one_step", "allreduce/onephase"} {
		for _, proto := range []ir.Protocol{ir.Simple, ir.LL} {
			list = append(list, writtenOf(ranked(name, 4, proto, i < 2), 1+2*(i%2)))
		}
	}
	for i, l := range launchables(t, list) {
		for k, gpus := range d.seatings(t) {
			if i%2 != k && (d.StandIn() || i%4 > 1) || !d.takes(i/2) {
				continue
			}
			t.Run(l.name+seatingNames[k], func(t *testing.T) {
				r := mustRig(t, d, l.program, plan.Options{GPUs: d.Open(gpus...), Replicas: 4, TileBytes: 1 << 14})
				r.launches(t, d.times(10, 60))
				if !l.program.ModifiesInput() {
					r.replays(t, d.times(2, 150))
				}
			})
		}
	}
}

// launches does a number of calls of different sizes one after the other.
func (r *rig) launches(t *testing.T, times int) {
	for i := range times {
		each := int64(1 + i*i*7%1500)
		if err := r.once(soon(t), data.I32, data.Sum, each*int64(r.plan.Program().Coll.Chunks),
			func(a *plan.CallArgs) { a.Replicas = i % 5 }); err != nil {
			t.Fatalf("launch %d: %v", i, err)
		}
	}
}

// replays launches three calls in turn, without waiting: by themselves, a GPU ahead of the others, and from graphs. The
// largest of elements is what it was, however often it is taken.
func (r *rig) replays(t *testing.T, times int) {
	var jobs []*job
	chunks := int64(r.plan.Program().Coll.Chunks)
	for i, each := range []int64{260, 3, 1001} {
		j, err := r.bind(t.Context(), data.I32, data.Max, each*chunks, func(a *plan.CallArgs) { a.Replicas = 3 - i })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := j.close(); err != nil {
				t.Error(err)
			}
		})
		if err := j.fill(); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	graphs := r.interleaved(t, jobs, 7)
	for i := range times {
		for k := range r.streams {
			at := (i + k) % len(r.streams)
			if err := graphs[at].Launch(r.streams[at]); err != nil {
				t.Fatal(err)
			}
			for n := range 4 {
				if err := jobs[(i+n)%len(jobs)].call.Launch(r.streams[at]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if i%50 == 0 || i == times-1 {
			if err := r.plan.Wait(soon(t)); err != nil {
				t.Fatal(err)
			}
			for n, j := range jobs {
				if err := j.compare(); err != nil {
					t.Fatalf("after %d replays, call %d: %v", i+1, n, err)
				}
			}
		}
	}
}

// interleaved are graphs of a number of launches of each of some calls in turn.
func (r *rig) interleaved(t testing.TB, jobs []*job, launches int) (graphs []executor.Graph) {
	t.Helper()
	for _, s := range r.streams {
		if err := s.Capture(); err != nil {
			t.Fatal(err)
		}
		for n := range launches * len(jobs) {
			if err := jobs[n%len(jobs)].call.Launch(s); err != nil {
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

// testOnePassLate leaves out the ranks of one GPU: those of others say what they waited for, and the plan works again
// after that.
func testOnePassLate(t *testing.T, d Device) {
	for _, l := range launchables(t, atLevel(t, []int{4}, [][2]int{{2, 2}}, 1)) {
		r := mustRig(t, d, l.program, plan.Options{GPUs: d.Open(numbers()...)})
		r.needsTwo(t)
		j := r.mustBind(t, 100*int64(l.program.Coll.Chunks), nil)
		if err := errors.Join(j.run(soon(t)), r.plan.SetWait(30*time.Millisecond), j.fill(),
			j.call.Launch(r.streams[0])); err != nil {
			t.Fatal(l.name, err)
		}
		timedOut(t, r.plan.Wait(soon(t)), "block", "waited", "from rank")
		if err := errors.Join(r.plan.Reset(t.Context()), r.plan.SetWait(20*time.Second), j.run(soon(t))); err != nil {
			t.Errorf("%s, after a reset: %v", l.name, err)
		}
	}
}

// idle is a program in which rank 2 has no block, and rank 0 two.
const idle = `program idle
collective custom ranks=3 chunks=1 in=1 out=1
require 0 output[0] = 1 input[0]
require 1 output[0] = 0 input[0]
protocol LL
even
onesided depth 2 onepass
packets 1,1,0
flags 1,0,0
block 0.0
  0 mv input[0] -> 1:packets[0]
  1 signal flags[0]
block 0.1
  0 wait flags[0] x1
  1 mv packets[0] -> output[0]
block 1.0
  0 mv input[0] -> 0:packets[0]
  1 mv packets[0] -> output[0] joint
`

// testIdleRank runs a program with a rank, and so perhaps a GPU, that does nothing.
func testIdleRank(t *testing.T, d Device) {
	p, err := parse.Program("idle", []byte(idle))
	if err != nil {
		t.Fatal(err)
	}
	if _, found := verify.Check(p, verify.Options{}); len(found) > 0 {
		t.Fatal(found)
	}
	for _, gpus := range d.seatings(t) {
		r := mustRig(t, d, p, plan.Options{GPUs: d.Open(gpus...)})
		r.launches(t, 20)
		r.replays(t, 3)
	}
	l := d.load(t, p)
	if err := check(l, p.Coll, data.I32, data.Sum, 1000, nil); err != nil {
		t.Error(err)
	}
}

// testRoom runs a program of more blocks than a GPU has room for in as many replicas as are usual: it has fewer, each
// with more.
func testRoom(t *testing.T, d Device) {
	const blocks = 600
	var requires, steps strings.Builder
	for k := range blocks {
		fmt.Fprintf(&requires, "require 0 output[%d] = 0 input[%d]\n", k, k)
		fmt.Fprintf(&steps, "block 0.%d\n  0 mv input[%d] -> scratch[%d]\n  1 mv scratch[%d] -> output[%d]\n", k, k, k, k, k)
	}
	program, err := parse.Program("room", fmt.Appendf(nil,
		"program room\ncollective custom ranks=1 chunks=%d in=%d out=%d\n%sscratch %d\neven\nonesided depth 1 onepass\n%s",
		blocks, blocks, blocks, requires.String(), blocks, steps.String()))
	if err != nil {
		t.Fatal(err)
	}
	if _, found := verify.Check(program, verify.Options{}); len(found) > 0 {
		t.Fatal(found)
	}
	gpus, elems := d.seatings(t), int64(blocks*1000)
	l, err := executor.Load(program, executor.Options{Device: d.Open(gpus[0]...), Unproven: true, TileBytes: 600})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 3 {
		if err := check(l, program.Coll, data.I32, data.Sum, elems, nil); err != nil {
			t.Error(err)
		}
	}
	if err := check(l, program.Coll, data.I32, data.Sum, elems, func(a *executor.Args) { a.Replicas = 8 }); err == nil {
		t.Error("there was room for 8 replicas")
	}
	t.Run("asked", func(t *testing.T) {
		r := mustRig(t, d, program, plan.Options{GPUs: d.Open(gpus[0]...), Replicas: 8, TileBytes: 600})
		if err := r.once(soon(t), data.I32, data.Sum, elems, nil); !errors.Is(err, executor.ErrNoDevice) ||
			!strings.Contains(err.Error(), "no room") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("usual", func(t *testing.T) {
		r := mustRig(t, d, program, plan.Options{GPUs: d.Open(gpus[0]...), PieceBytes: 4 * elems})
		if err := r.once(soon(t), data.I32, data.Sum, elems, nil); err != nil {
			t.Error(err)
		}
	})
}

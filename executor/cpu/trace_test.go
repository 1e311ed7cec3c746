//go:build cgo

package cpu

import (
	"context"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
)

// traced runs l once and returns the trace.
func traced(t *testing.T, l *executor.Loaded, p *either.Program, elems int64,
	set func(*executor.Args)) *executor.Trace {
	t.Helper()
	d := data.New(data.NewGeometry(p.Coll, elems, 4), data.I32, data.Sum, 1)
	args := executor.DataArgs(d)
	args.Trace, args.Wait = &executor.Trace{}, 20*time.Second
	set(&args)
	if _, err := l.Run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	rep := d.Check()
	if err := rep.Err(); err != nil {
		t.Fatal(err)
	}
	return args.Trace
}

// inOrder reports whether the spans of each block's replica follow one another, but for
// the steps of a two-sided program that are one action, and how often each step ran.
func inOrder(t *testing.T, p *either.Program, tr *executor.Trace) map[int32]int64 {
	t.Helper()
	type lane struct {
		block   int
		replica int32
	}
	last, runs := map[lane]executor.Span{}, map[int32]int64{}
	begins := false
	for _, s := range tr.Spans {
		rank, block, _ := p.Place(s.Step)
		at := lane{int(p.Rank[rank].First) + block, s.Replica}
		before, any := last[at]
		together := p.OneSided == nil && before.Begin == s.Begin && before.Length == s.Length
		if s.Length < 0 || any && !together && s.Begin < before.Begin+before.Length {
			t.Fatalf("%s of replica %d in pass %d begins at %v, and what is before it at %v for %v", p.StepName(s.Step),
				s.Replica, s.Pass, s.Begin, before.Begin, before.Length)
		}
		begins = begins || s.Begin == 0
		last[at] = s
		runs[s.Step]++
	}
	if !begins {
		t.Error("no step begins at 0")
	}
	return runs
}

// Every step of a one-sided program is in the trace once for each replica and pass, or
// once a replica where it enters or leaves.
func TestTraceOneSided(t *testing.T) {
	for _, p := range onePrograms() {
		for _, threads := range []int{0, 2} {
			l := loadOne(t, p, executor.Options{})
			tr := traced(t, l, p, 4003, func(a *executor.Args) { a.Replicas, a.TileBytes, a.PerBlock = 3, 256, threads })
			if tr.Of < 2 || tr.Passes != tr.Of {
				t.Fatalf("%s: %d passes of %d", p.Name, tr.Passes, tr.Of)
			}
			runs := inOrder(t, p, tr)
			for i, s := range p.Steps {
				want := 3 * tr.Passes
				if s.Flags&(ir.Enter|ir.Leave) != 0 {
					want = 3
				}
				if runs[int32(i)] != want {
					t.Errorf("%s: %s ran %d times, want %d", p.Name, p.StepName(int32(i)), runs[int32(i)], want)
				}
			}
		}
	}
}

// A run of many passes is traced from its first on, and the run after it not at
// all.
func TestTraceEnds(t *testing.T) {
	p := push(7, true)
	l := loadOne(t, p, executor.Options{})
	tr := traced(t, l, p, 1<<20, func(a *executor.Args) { a.Replicas, a.TileBytes = 2, 16 })
	if tr.Passes >= tr.Of || len(tr.Spans) < 1<<17 || len(tr.Spans) > 1<<18 {
		t.Errorf("%d spans of %d passes of %d", len(tr.Spans), tr.Passes, tr.Of)
	}
	inOrder(t, p, tr)
	d := data.New(data.NewGeometry(p.Coll, 100, 4), data.I32, data.Sum, 1)
	before := len(tr.Spans)
	if _, err := l.Run(context.Background(), executor.DataArgs(d)); err != nil || len(tr.Spans) != before {
		t.Errorf("after a run without a trace it has %d spans: %v", len(tr.Spans), err)
	}
}

// Every step of a two-sided program is in the trace, in each pass.
func TestTraceTwoSided(t *testing.T) {
	for _, p := range programs() {
		for _, threads := range []int{0, 2} {
			l := load(t, p)
			tr := traced(t, l, p, 1003, func(a *executor.Args) { a.TileBytes, a.PerBlock = 256, threads })
			runs := inOrder(t, p, tr)
			for i := range p.Steps {
				if runs[int32(i)] < tr.Passes || tr.Passes < 2 || tr.Passes != tr.Of {
					t.Errorf("%s: %s ran %d times in %d passes of %d", p.Name, p.StepName(int32(i)), runs[int32(i)], tr.Passes, tr.Of)
				}
			}
		}
	}
}

// One of many passes is traced from the first on, and one that is stuck as far as it came.
func TestTraceTwoSidedEnds(t *testing.T) {
	p := ringAllReduce(2, true)
	tr := traced(t, load(t, p), p, 3<<17, func(a *executor.Args) { a.TileBytes = 16 })
	if tr.Passes >= tr.Of || len(tr.Spans) < 1<<17 || len(tr.Spans) > 1<<18 {
		t.Errorf("%d spans of %d passes of %d", len(tr.Spans), tr.Passes, tr.Of)
	}
	for i, n := range inOrder(t, p, tr) {
		if n != tr.Passes {
			t.Errorf("%s ran %d times in %d passes", p.StepName(i), n, tr.Passes)
		}
	}
	c := &ir.Collective{Kind: ir.SendRecv, Ranks: 2, Chunks: 2, Peer: []int32{1, 0}}
	b := newBuilder("stuck", c, 0)
	b.block(0, 1, -1, 0)
	b.step(0, 0, ir.Send, input(0), none, 1, 0)
	b.block(1, -1, 0, 0)
	b.step(1, 0, ir.Recv, none, output(0), 1, 0)
	b.step(1, 0, ir.Recv, none, output(1), 1, 0)
	l, err := executor.Load(b.program(), executor.Options{Device: Device(), Unproven: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for proto := range ir.NumProtocols {
		args := executor.DataArgs(data.New(data.NewGeometry(c, 40, 4), data.I32, data.Sum, 1))
		args.Trace, args.Wait, args.Protocol = tr, 100*time.Millisecond, &proto
		if _, err := l.Run(context.Background(), args); err == nil || len(tr.Spans) != 2 || tr.Spans[0].Step != 0 ||
			tr.Spans[1].Step != 1 {
			t.Errorf("%v: the trace of a run that is stuck has %+v, %v", proto, tr.Spans, err)
		}
	}
}

package gputest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mscclc"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// testTrace has every step of a one-sided program recorded, in each of its replicas
// and passes; AMD's GPUs have no image for that.
func testTrace(t *testing.T, d Device) {
	p := mustProgram(t, ranked("allreduce/allpairs", 4, ir.LL, true))
	l := d.load(t, p)
	trace := &executor.Trace{}
	err := check(l, p.Coll, data.I32, data.Sum, 4003,
		func(a *executor.Args) { a.Trace, a.Replicas, a.TileBytes = trace, 3, 256 })
	if d.Name == "hip" {
		if !errors.Is(err, executor.ErrNotSupported) {
			t.Errorf("a trace: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	runs := map[int32]int64{}
	for _, s := range trace.Spans {
		if runs[s.Step]++; s.Begin < 0 || s.Length < 0 {
			t.Errorf("%s took from %v on %v", p.StepName(s.Step), s.Begin, s.Length)
		}
	}
	for i, s := range p.Steps {
		want := 3 * trace.Passes
		if s.Flags&(ir.Enter|ir.Leave) != 0 {
			want = 3
		}
		if runs[int32(i)] != want || trace.Passes < 2 {
			t.Errorf("%s ran %d times in %d passes of 3 replicas", p.StepName(int32(i)), runs[int32(i)], trace.Passes)
		}
	}
	if err := check(l, p.Coll, data.U64, data.Sum, 100,
		func(a *executor.Args) { a.Trace = trace }); !errors.Is(err, executor.ErrNotSupported) && !d.hosted() {
		t.Errorf("a trace of a type that there is no image for: %v", err)
	}
}

// testTraceTwo has every message and step of two-sided programs recorded once, in each pass and in the order of its
// block: of some that move several chunks at once, in messages of one, and of chains.
func testTraceTwo(t *testing.T, d Device) {
	for _, name := range []string{"allreduce/allpairs", "allgather/recursive_doubling", "allreduce/ring"} {
		p := must(t, name, 4, name == "allreduce/ring")
		l, passes := d.load(t, p), int64(5)
		for proto := range ir.NumProtocols {
			trace := &executor.Trace{}
			run := func(dt data.DType) error {
				elems := passes * 64 * int64(p.Coll.Chunks)
				return check(l, p.Coll, dt, data.Sum, elems, func(a *executor.Args) {
					a.Trace, a.Protocol, a.SlotBytes, a.TileBytes = trace, &proto, int64(64*dt.Size()), int64(64*dt.Size())
				})
			}
			err := run(data.I32)
			if d.Name == "hip" {
				if !errors.Is(err, executor.ErrNotSupported) {
					t.Errorf("a trace: %v", err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if trace.Passes != passes || trace.Of != passes {
				t.Errorf("%s %v: %d passes of %d, and not %d", name, proto, trace.Passes, trace.Of, passes)
			}
			eachOnce(t, p, trace)
			if err := run(data.U64); !errors.Is(err, executor.ErrNotSupported) && !d.hosted() {
				t.Errorf("a trace of a type that there is no image for: %v", err)
			}
		}
	}
	if d.Name != "hip" {
		traceTwoCalls(t, d)
	}
}

// eachOnce reports whether a trace of a run with messages of one chunk has all that it should, and in order. Clocks of
// two GPUs are not compared: a block is on one.
func eachOnce(t *testing.T, p *either.Program, trace *executor.Trace) {
	t.Helper()
	type action struct {
		step    int32
		pass    int64
		message int32
	}
	seen, last := map[action]int{}, map[int]executor.Span{}
	for _, s := range trace.Spans {
		rank, number, _ := p.Place(s.Step)
		block := int(p.Rank[rank].First) + number
		seen[action{s.Step, s.Pass, s.Message}]++
		before, any := last[block]
		chain := any && before.Begin == s.Begin && before.Length == s.Length && before.Step < s.Step
		if s.Begin < 0 || s.Length < 0 || any && !chain && s.Begin < before.Begin+before.Length {
			t.Errorf("%s took from %v on %v, and what is before it from %v on %v", p.StepName(s.Step), s.Begin, s.Length,
				before.Begin, before.Length)
		}
		if any && (s.Pass < before.Pass || s.Pass == before.Pass &&
			(s.Step < before.Step || s.Step == before.Step && s.Message <= before.Message)) {
			t.Errorf("%s of pass %d is after %s of pass %d", p.StepName(s.Step), s.Pass, p.StepName(before.Step), before.Pass)
		}
		last[block] = s
	}
	want := 0
	for i, s := range p.Steps {
		messages := int32(1)
		if info := s.Op.Info(); info.Sends || info.Receives {
			messages = max(1, s.Count)
		}
		for pass := range trace.Passes {
			for m := range messages {
				if n := seen[action{int32(i), pass, m}]; n != 1 {
					t.Errorf("message %d of %s in pass %d is there %d times", m, p.StepName(int32(i)), pass, n)
				}
				want++
			}
		}
	}
	if len(trace.Spans) != want {
		t.Errorf("%d spans, and not %d", len(trace.Spans), want)
	}
}

// traceTwoCalls has a call launched several times, of which the last is recorded; on GPUs more passes than a trace
// holds, which are many; and a launch that ends early.
func traceTwoCalls(t *testing.T, d Device) {
	p, trace := must(t, "allreduce/ring", 2, true), &executor.Trace{}
	r := mustRig(t, d, p, plan.Options{GPUs: d.Open(numbers()...), SlotBytes: 16, TileBytes: 16})
	j := r.mustBind(t, 40, func(a *plan.CallArgs) { a.Trace = trace })
	for range 3 {
		if err := errors.Join(j.run(soon(t)), j.call.TakeTrace()); err != nil {
			t.Fatal(err)
		}
		eachOnce(t, p, trace)
	}
	if !d.StandIn() {
		j = r.mustBind(t, 3<<17, func(a *plan.CallArgs) { a.Trace = trace })
		if err := errors.Join(j.run(soon(t)), j.call.TakeTrace()); err != nil {
			t.Fatal(err)
		}
		if trace.Passes >= trace.Of || len(trace.Spans) < 1<<17 || len(trace.Spans) > 1<<18 {
			t.Errorf("%d spans of %d passes of %d", len(trace.Spans), trace.Passes, trace.Of)
		}
		eachOnce(t, p, trace)
	}
	s := stuck(ir.LL)
	err := check(d.load(t, s), s.Coll, data.I32, data.Sum, 4,
		func(a *executor.Args) { a.Trace, a.Wait = trace, 50*time.Millisecond })
	var list diag.List
	if !errors.As(err, &list) || list[0].Code != diag.Timeout {
		t.Errorf("a traced launch that is stuck: %v", err)
	}
}

const throughSwitch = `algorithm switch(ranks = 3)
collective allreduce(ranks, inplace = true)
for r in 0..ranks {
    let sum = reduce([chunk(q, input, r) for q in 0..ranks], r, input, r, via = switch)
    sum.copy([q for q in 0..ranks if q != r], via = switch)
}`

// testSwitch runs a program that goes through the switch: rank by rank, whatever
// multicast addresses a call brings, unless the environment asks for more, which
// is refused where the driver has none. No multicast memory is ever touched.
func testSwitch(t *testing.T, d Device) {
	p, err := mscclc.Compile("switch.mscl", []byte(throughSwitch), mscclc.Options{OneSided: true})
	if err != nil {
		t.Fatal(err)
	}
	r := mustRig(t, d, p, plan.Options{GPUs: d.Open(numbers()...)})
	nowhere := func(a *plan.CallArgs) { a.Switch = &plan.SwitchMemory{Input: 16, Output: 16} }
	if err := r.once(soon(t), data.F32, data.Sum, 3001, nowhere); err != nil {
		t.Error(err)
	}
	if !d.StandIn() {
		return
	}
	t.Setenv(plan.MulticastVariable, "1")
	if err := r.once(soon(t), data.F32, data.Sum, 3001, nil); err != nil {
		t.Error(err)
	}
	for _, x := range []struct {
		dt   data.DType
		op   data.RedOp
		want string
	}{
		{data.F32, data.Max, "adds up f16, bf16 and f32"},
		{data.I32, data.Sum, "adds up f16, bf16 and f32"},
		{data.BF16, data.Sum, "has no switch that adds up"},
	} {
		if err := r.once(soon(t), x.dt, x.op, 3001, nowhere); !errors.Is(err, executor.ErrNotSupported) ||
			!strings.Contains(err.Error(), x.want) {
			t.Errorf("%v of %v through the switch: %v", x.op, x.dt, err)
		}
	}
}

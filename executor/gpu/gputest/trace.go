package gputest

import (
	"errors"
	"strings"
	"testing"

	"mscclc"
	"mscclc/executor"
	"mscclc/ir"
)

// testTrace has every step of a one-sided program recorded, in each of its columns
// and passes; AMD's GPUs have no image for that.
func testTrace(t *testing.T, d Device) {
	p := mustProgram(t, ranked("allreduce/allpairs", 4, ir.LL, true))
	l := d.load(t, p)
	trace := &executor.Trace{}
	err := check(l, p.Coll, executor.I32, executor.Sum, 4003, func(a *executor.Args) { a.Trace, a.Columns, a.TileBytes = trace, 3, 256 })
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
			t.Errorf("%s ran %d times in %d passes of 3 columns", p.StepName(int32(i)), runs[int32(i)], trace.Passes)
		}
	}
	if err := check(l, p.Coll, executor.U64, executor.Sum, 100, func(a *executor.Args) { a.Trace = trace }); !errors.Is(err, executor.ErrNotSupported) {
		t.Errorf("a trace of a type that there is no image for: %v", err)
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
	r := mustRig(t, p, executor.PlanOptions{GPUs: d.Open(numbers()...)})
	nowhere := func(a *executor.CallArgs) { a.Switch = &executor.SwitchMemory{Input: 16, Output: 16} }
	if err := r.once(soon(t), executor.F32, executor.Sum, 3001, nowhere); err != nil {
		t.Error(err)
	}
	if !d.StandIn() {
		return
	}
	t.Setenv(executor.MulticastVariable, "1")
	if err := r.once(soon(t), executor.F32, executor.Sum, 3001, nil); err != nil {
		t.Error(err)
	}
	for _, x := range []struct {
		dt   executor.DType
		op   executor.RedOp
		want string
	}{
		{executor.F32, executor.Max, "adds up f16, bf16 and f32"},
		{executor.I32, executor.Sum, "adds up f16, bf16 and f32"},
		{executor.BF16, executor.Sum, "has no switch that adds up"},
	} {
		if err := r.once(soon(t), x.dt, x.op, 3001, nowhere); !errors.Is(err, executor.ErrNotSupported) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v of %v through the switch: %v", x.op, x.dt, err)
		}
	}
}

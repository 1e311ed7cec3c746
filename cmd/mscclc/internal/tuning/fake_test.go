package tuning

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/selection"
)

// A fakeLab measures forms by a formula, in microseconds. nccl is NCCL's time, or nil where it is not measured.
type fakeLab struct {
	time  func(c selection.Choice, bytes int64, eager bool) float64
	nccl  func(bytes int64) float64
	until int // how often Any says no; 0 is always
	asked int
	fails func(bytes int64) error // of all forms, unless nil
	f32   []int64                 // the KiB of calls with elements of f32 that NCCL was measured at
}

type fakeOp struct {
	form  *bench.Form // nil is NCCL
	bytes int64
	eager bool
}

func (fakeOp) Name() string { return "fake" }
func (fakeOp) Close() error { return nil }

func (*fakeLab) Name() string                                          { return "fake" }
func (*fakeLab) Driver() string                                        { return "" }
func (*fakeLab) Devices() []bench.Device                               { return nil }
func (*fakeLab) Close() error                                          { return nil }
func (*fakeLab) Agree(_ context.Context, err error) error              { return err }
func (*fakeLab) Place(context.Context, *bench.Call, bench.Round) error { return nil }
func (*fakeLab) Once(context.Context, bench.Op) error                  { return nil }

// Any says that the time has passed in another process after l.until questions.
func (l *fakeLab) Any(_ context.Context, yes bool) (bool, error) {
	l.asked++
	return yes || l.until > 0 && l.asked > l.until, nil
}

func (*fakeLab) Check(context.Context, *bench.Call, bench.Round) (bench.Found, error) {
	return bench.Found{Checked: 1}, nil
}

func (l *fakeLab) Ready(_ context.Context, f *bench.Form, c *bench.Call) (bench.Op, error) {
	if l.fails != nil {
		if err := l.fails(c.Bytes()); err != nil {
			return nil, err
		}
	}
	return fakeOp{f, c.Bytes(), false}, nil
}

func (*fakeLab) Eager(op bench.Op) bench.Op {
	of := op.(fakeOp)
	of.eager = true
	return of
}

func (l *fakeLab) rivals(_ context.Context, c *bench.Call) ([]bench.Op, error) {
	if c.DType == data.F32 {
		l.f32 = append(l.f32, c.Bytes()>>10)
	}
	return []bench.Op{fakeOp{nil, c.Bytes(), false}, fakeOp{nil, c.Bytes(), true}}, nil
}

func (l *fakeLab) Measure(_ context.Context, ops []bench.Op, _ bench.Measuring, _ *bench.Call) (list []bench.Sample,
	err error) {
	for _, op := range ops {
		of := op.(fakeOp)
		us := 0.0
		if of.form == nil {
			us = l.nccl(of.bytes)
		} else {
			us = l.time(of.form.Choice, of.bytes, of.eager)
		}
		list = append(list, bench.Sample{Time: time.Duration(us * 1e3), Launches: 1})
	}
	return list, nil
}

// tuner returns what has measured AllReduces of some sizes with l, each program in few widths. with changes the lab.
func (l *fakeLab) tuner(t *testing.T, ranks int, sizes []int64, with func(*Lab)) *Tuner {
	t.Helper()
	lab := &Lab{Site: l, Chooser: &choose.Chooser{Device: "NVIDIA H200"}, DType: data.BF16,
		Replicas: func(*either.Program) (int, error) { return 32, nil }}
	if with != nil {
		with(lab)
	}
	if l.nccl != nil {
		lab.Rivals = l.rivals
	}
	coll := &ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: 1}
	tuner, err := lab.Tuner(coll, choose.Call{Kind: ir.AllReduce, Ranks: ranks, Nodes: 1}, sizes)
	if err != nil {
		t.Fatal(err)
	}
	for _, bytes := range sizes {
		if _, _, err := tuner.Measure(context.Background(), bytes, time.Nanosecond); err != nil {
			t.Fatal(err)
		}
	}
	return tuner
}

const room = 64 << 20

// rules says which program runs calls of up to which number of bytes, in whatever width.
func rules(t *Tuner, how int) string {
	list := t.Rules(room)[[bench.NumLaunches]int{bench.Plain: 0, bench.Captured: 1}[how]]
	text := ""
	for i, r := range list {
		if i+1 < len(list) && list[i+1].Plain() == r.Plain() {
			continue
		}
		name := strings.TrimPrefix(r.Program, "allreduce/")
		if r.Program != bundle.NCCL {
			name += " " + r.Protocol.String()
		}
		text += fmt.Sprintf("%s up to %dK; ", name, r.UpTo>>10)
	}
	return text
}

// measured returns the sizes that were measured, in KiB.
func measured(t *Tuner) (list []int64) {
	for _, s := range t.Sizes {
		list = append(list, s.Bytes>>10)
	}
	return list
}

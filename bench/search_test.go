package bench

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
	"mscclc/selection"
)

// A fakeSite measures forms by a formula.
type fakeSite struct {
	time     func(f *Form) float64 // us; negative fails
	wrong    func(f *Form) bool
	measured int
	current  *Form
}

type fakeOp struct{ f *Form }

func (o fakeOp) width(f *Form) { *f = *o.f }

func (o fakeOp) Name() string { return o.f.Name }
func (fakeOp) Close() error   { return nil }

func (*fakeSite) Name() string                                  { return "fake" }
func (*fakeSite) Driver() string                                { return "" }
func (*fakeSite) Devices() []Device                             { return nil }
func (*fakeSite) Close() error                                  { return nil }
func (*fakeSite) Agree(_ context.Context, err error) error      { return err }
func (*fakeSite) Any(_ context.Context, yes bool) (bool, error) { return yes, nil }
func (s *fakeSite) Ready(_ context.Context, f *Form, _ *Call) (Op, error) {
	if s.time(f) < 0 {
		return nil, errors.New("no room")
	}
	g := *f
	s.time(&g) // which fills in the width
	return fakeOp{&g}, nil
}
func (*fakeSite) Place(context.Context, *Call, Round) error { return nil }
func (s *fakeSite) Once(_ context.Context, op Op) error {
	s.current = op.(fakeOp).f
	return nil
}
func (s *fakeSite) Check(context.Context, *Call, Round) (Found, error) {
	found := Found{Checked: 10}
	if s.wrong != nil && s.wrong(s.current) {
		found.Wrong = 1
	}
	return found, nil
}
func (s *fakeSite) Measure(_ context.Context, ops []Op, _ Measuring, _ *Call) ([]Sample, error) {
	var list []Sample
	for _, op := range ops {
		s.measured++
		list = append(list, Sample{Time: time.Duration(1e3 * s.time(op.(fakeOp).f)), Launches: 1, How: "fake"})
	}
	return list, nil
}

// wide is a choice of a width.
func wide(replicas, threads int, tile int64) selection.Choice {
	return selection.Choice{Width: launch.Width{Replicas: replicas, Threads: threads, Tile: tile}}
}

// hill is fastest with 16 replicas of 512 threads and tiles of 64 KiB.
func hill(f *Form) float64 {
	steps := func(v, best float64) float64 { return math.Abs(math.Log2(max(v, 1) / best)) }
	base := map[string]float64{"slow": 100, "good": 10, "close": 11, "broken": -1}[f.Name]
	if f.Choice.Replicas == 0 {
		f.Choice.Replicas, f.Choice.Threads, f.Choice.Tile = 4, 1024, 8<<10 // what the executor would choose
	}
	return base * (1 + steps(float64(f.Choice.Replicas), 16)/10 + steps(float64(f.Choice.Threads), 512)/10 +
		steps(float64(f.Choice.Tile), 64<<10)/10)
}

func TestTune(t *testing.T) {
	p := either.OfOneSided(&onesided.Program{})
	var forms []*Form
	for _, name := range []string{"slow", "broken", "close", "good"} {
		forms = append(forms, &Form{Name: name, Program: p})
	}
	site := &fakeSite{time: hill}
	search := &Search{Site: site, Most: 100}
	tried, err := search.Tune(context.Background(), &Call{}, forms)
	if err != nil {
		t.Fatal(err)
	}
	if b := tried[0]; b.Name != "good" || b.Choice.Replicas != 16 || b.Choice.Threads != 512 ||
		b.Choice.Tile != 64<<10 || site.measured > 110 {
		t.Errorf("%+v after %d measurements", b, site.measured)
	}
	// What is wrong does not win, and what fails everywhere is reported.
	site.wrong = func(f *Form) bool { return f.Name == "good" }
	if tried, err := search.Tune(context.Background(), &Call{}, forms[:1]); err != nil || tried[0].Name != "slow" {
		t.Errorf("%v %v", tried, err)
	}
	if _, err := search.Tune(context.Background(), &Call{}, forms[3:]); err == nil ||
		!strings.Contains(err.Error(), "1 of 10 elements are wrong") {
		t.Errorf("got %v", err)
	}
	if _, err := search.Tune(context.Background(), &Call{}, forms[1:2]); err == nil ||
		!strings.Contains(err.Error(), "no room") {
		t.Errorf("got %v", err)
	}
}

// Of forms that are as fast as each other, that of the smallest tiles is the best.
func TestTuneTiles(t *testing.T) {
	// larger tiles are faster by what measurements wander, and by more only up to 128 KiB
	site := &fakeSite{time: func(f *Form) float64 {
		if f.Choice.Replicas == 0 {
			f.Choice.Replicas, f.Choice.Threads, f.Choice.Tile = 16, 512, 64<<10
		}
		return hill(&Form{Name: "good", Choice: wide(f.Choice.Replicas, f.Choice.Threads, 64<<10)}) * (1 +
			1e-4*float64(1<<20)/float64(f.Choice.Tile) + max(0, 128<<10-float64(f.Choice.Tile))/(1<<20))
	}}
	search := &Search{Site: site, Most: 200}
	tried, err := search.Tune(context.Background(), &Call{},
		[]*Form{{Name: "good", Program: either.OfOneSided(&onesided.Program{})}})
	if err != nil {
		t.Fatal(err)
	}
	if b := tried[0]; b.Choice.Replicas != 16 || b.Choice.Threads != 512 || b.Choice.Tile != 128<<10 {
		t.Errorf("%+v", b)
	}
}

// A size that fails has its error in its row, and the next is measured.
func TestRunGoesOn(t *testing.T) {
	site := &fakeSite{time: func(f *Form) float64 { return float64(f.Choice.Replicas) }}
	report := sample()
	report.Rows = nil
	rows := 0
	job := &Job{Site: site, Coll: report.Coll, DType: data.BF16, Sizes: []int64{1 << 10, 1 << 12},
		Row: func(*Row) { rows++ }, Form: func(bytes int64, inplace bool) (*Form, error) {
			if inplace {
				return nil, nil
			}
			return &Form{Name: "f", Choice: wide(int(bytes>>10)-2, 0, 0)}, nil
		},
		Rivals: func(context.Context, *Call) ([]Op, error) {
			return []Op{fakeOp{&Form{Name: "graph", Choice: wide(6, 0, 0)}}, fakeOp{&Form{Name: "plain", Choice: wide(3, 0, 0)}}}, nil
		}}
	if err := job.Run(context.Background(), report); err != nil {
		t.Fatal(err)
	}
	if rows != 2 || report.Rows[0].OutOfPlace.Err == nil || report.Rows[0].InPlace != nil {
		t.Fatalf("%+v", report.Rows[0])
	}
	second := report.Rows[1].OutOfPlace
	if second.Err != nil || second.Time != 2 || second.Rival.Time != 3 || second.Rival.Other != 6 ||
		second.Ratio() != 1.5 || second.Checked != 10 {
		t.Errorf("%+v %+v", second, second.Rival)
	}
}

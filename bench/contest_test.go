package bench

import (
	"context"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// An eagerFake is a fakeSite whose launches one by one take 5 us more.
type eagerFake struct {
	*fakeSite
	once []Form
}

func (s *eagerFake) Eager(op Op) Op {
	f := *op.(fakeOp).f
	f.Name += " eager"
	return fakeOp{&f}
}

func (s *eagerFake) Once(ctx context.Context, op Op) error {
	s.once = append(s.once, *op.(fakeOp).f)
	return s.fakeSite.Once(ctx, op)
}

// TestContest: the fastest width within the limits is found, and each form that is returned was measured beside NCCL in
// both launches, and was right in both placements.
func TestContest(t *testing.T) {
	program := func() *either.Program { return either.OfOneSided(&onesided.Program{}) }
	out, in := program(), program()
	forms := []*Form{{"slow", program(), wide(1, 128, 64<<10)}, {"good", out, wide(1, 128, 64<<10)},
		{"wrong", program(), wide(1, 128, 64<<10)}}
	site := &eagerFake{fakeSite: &fakeSite{time: func(f *Form) float64 {
		name, eager := strings.CutSuffix(f.Name, " eager")
		g := *f
		g.Name = name
		switch {
		case name == "NCCL":
			return 30
		case name == "wrong":
			g.Name = "good"
			return 0.8 * hill(&g)
		case eager:
			return hill(&g) + 5
		}
		return hill(&g)
	}, wrong: func(f *Form) bool { return f.Name == "wrong" }}}
	s := &Contest{Site: site, Most: 100,
		Widths: func(*Form, *Call) *Widths {
			return &Widths{Replicas: []int64{1, 2, 4, 8}, Threads: []int64{128, 512}, Tiles: []int64{64 << 10}}
		},
		Rivals: func(context.Context, *Call) ([]Op, error) {
			return []Op{fakeOp{&Form{Name: "NCCL"}}, fakeOp{&Form{Name: "NCCL"}}}, nil
		},
		InPlace: func(f *Form) *Form {
			g := *f
			if g.Program == out {
				g.Program = in
			}
			return &g
		}}
	c := &Call{Coll: &ir.Collective{Kind: ir.AllGather, Ranks: 2, Chunks: 1}, Elems: 100}
	list, err := s.Run(context.Background(), c, forms)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	best := list[0]
	if best.Name != "good" || best.Choice.Replicas != 8 || best.Choice.Threads != 512 {
		t.Errorf("the fastest is %v", best.Form)
	}
	if best.Micros[Plain] != best.Micros[Captured]+5 || best.NCCL != [NumLaunches]float64{30, 30} {
		t.Errorf("times are %v, and NCCL's %v", best.Micros, best.NCCL)
	}
	placements := 0
	for _, f := range site.once {
		if f.Choice.Replicas == best.Choice.Replicas && f.Choice.Threads == best.Choice.Threads &&
			(f.Program == out || f.Program == in) {
			placements++
		}
	}
	if placements != 2 {
		t.Errorf("the fastest was checked %d times, not out of place and in place: %v", placements, site.once)
	}
	for _, e := range list {
		if e.Name == "wrong" {
			t.Errorf("a wrong form was taken: %v", e.Form)
		}
	}
	if _, err := s.Run(context.Background(), c, forms[2:]); err == nil || !strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong form alone: %v", err)
	}
}

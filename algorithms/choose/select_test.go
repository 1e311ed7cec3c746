package choose

import (
	"math"
	"slices"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/selection"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

func selector(t *testing.T, spec, target string) *Selector {
	t.Helper()
	topo, err := topology.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	costs, err := devices.CostsOf(topo.Device)
	if err != nil {
		t.Fatal(err)
	}
	to, err := codegen.TargetByName(target)
	if err != nil {
		t.Fatal(err)
	}
	return &Selector{Call: Call{Kind: ir.AllReduce, Ranks: topo.Ranks(), Nodes: topo.Nodes}, Topology: topo, Costs: costs,
		DType: data.BF16, Target: to}
}

// TestAlike holds that of AllReduces that are as fast one comes first whose ranks end with the same bits, and that a
// faster one stays where it is.
func TestAlike(t *testing.T) {
	of := func(name string, micros float64) timed {
		return timed{Form{Choice: selection.Choice{Program: name}}, micros}
	}
	differ := func(ranks int) func(Form) bool { return func(f Form) bool { return Differs(f.Program, ranks) } }
	list := []timed{of("allreduce/allpairs_onestep", 2), of("allreduce/ring", 2.005), of("allreduce/onephase", 2.01)}
	alike(list, differ(3))
	if list[0].Program != "allreduce/ring" || list[1].Program != "allreduce/allpairs_onestep" ||
		list[2].Program != "allreduce/onephase" {
		t.Errorf("in the order %v", list)
	}
	list = []timed{of("allreduce/allpairs_onestep", 2), of("allreduce/onephase", 2.1)}
	if alike(list, differ(3)); list[0].Program != "allreduce/allpairs_onestep" {
		t.Errorf("in the order %v", list)
	}
	list = []timed{of("allreduce/allpairs_onestep", 2), of("allreduce/ring", 2.005)}
	if alike(list, differ(2)); list[0].Program != "allreduce/allpairs_onestep" { // two add the same two numbers
		t.Errorf("of two ranks in the order %v", list)
	}
}

// TestDiffers holds what the catalog's headers say of bits against the order of the sums.
func TestDiffers(t *testing.T) {
	for _, v := range Candidates(ir.AllReduce) {
		if v.Protocol != ir.LL || v.Sided != selection.OneSided {
			continue
		}
		for _, ranks := range []int{2, 4} {
			p, err := Call{Kind: ir.AllReduce, Ranks: ranks}.Compile(v)
			if err != nil {
				t.Errorf("%v of %d: %v", v, ranks, err)
			} else if o := bitwise.OrderOf(p); o.Same() == Differs(v.Program, ranks) {
				t.Errorf("%v of %d: sums are the same: %v", v, ranks, o.Same())
			}
		}
	}
}

// TestDespite holds that a program which is not the fastest is never taken without a reason.
func TestDespite(t *testing.T) {
	of := func(name string, micros float64) timed {
		return timed{Form{Choice: selection.Choice{Program: name}}, micros}
	}
	for _, c := range []struct {
		taken  string
		joined bool
		list   []timed
		want   string
	}{
		{"allreduce/ring", false, []timed{of("allreduce/ring", 2), of("allreduce/allpairs", 3)}, ""},
		{"allreduce/ring", false, []timed{of("allreduce/ring", 2.01), of("allreduce/allpairs_onestep", 2)}, "all ranks end with the same bits, and those of the second may not"},
		{"allreduce/ring", true, []timed{of("allreduce/allpairs", 2), of("allreduce/ring", 3)}, "ranges were joined, to be 1 at most: for some of these sizes another program is 1.50x as fast"},
		{"allreduce/ring", true, []timed{of("allreduce/allpairs", 2), of("allreduce/ring", 2.02)}, "the second is faster, but within 2 %"},
	} {
		s := &Selector{Most: 1, Call: Call{Ranks: 3}}
		r := &Stretch{Form: Form{Choice: selection.Choice{Program: c.taken}}}
		at := slices.IndexFunc(c.list, func(t timed) bool { return t.Program == c.taken })
		r.Next, r.Ratio = runnerUp(c.list, c.list[at])
		if got := s.despite(r, [][]timed{c.list}, c.joined); got != c.want {
			t.Errorf("%v: %q, not %q", c.list, got, c.want)
		}
	}
}

// TestSelect holds that stretches lie side by side, each with the fastest program of its size, and that a boundary is
// where two programs are as fast.
func TestSelect(t *testing.T) {
	s := selector(t, "h200:gpus=4", "program")
	sizes := []int64{1 << 10, 64 << 10, 1 << 20, 64 << 20}
	list, err := s.Sizes(sizes)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 3 || list[0].From != 0 || list[0].At != sizes[0] || list[len(list)-1].To != 0 {
		t.Fatalf("stretches %+v", list)
	}
	for i, r := range list {
		if (i > 0 || r.Ratio < 1) != (r.Reason != "") {
			t.Errorf("stretch %d: reason %q, the second is %.2fx", i, r.Reason, r.Ratio)
		}
		if i == 0 {
			continue
		}
		before := list[i-1]
		if before.To != r.From {
			t.Errorf("stretch %d ends at %d, and the next begins at %d", i-1, before.To, r.From)
		}
		_, below, err1 := s.fastest(before.Form, r.From)
		_, above, err2 := s.fastest(r.Form, r.From)
		if err1 != nil || err2 != nil || above.micros > below.micros*1.001 {
			t.Errorf("at %d %v takes %.2f us, and %v %.2f: %v %v", r.From, before.Form, below.micros, r.Form, above.micros,
				err1, err2)
		}
	}
	shape := func(r Stretch) Shape { return s.shapes[r.Program] }
	if first, last := list[0], list[len(list)-1]; shape(first).Rounds != 1 || shape(last).Volume > 1.51 ||
		last.Protocol != ir.Simple {
		t.Errorf("small: %v, large: %v", first.Form, last.Form)
	}
}

// TestLeftOut holds that what smaller sizes say is far from the best is not, where it is left out: what is picked is as
// fast as the fastest of all.
func TestLeftOut(t *testing.T) {
	for _, c := range []struct{ spec, target string }{{"h200:gpus=4", "program"}, {"ndv4", "msccl"},
		{"h200:gpus=3", "rccl"}} {
		s := selector(t, c.spec, c.target)
		forms, _ := s.list()
		seen := make([]past, len(forms))
		left := 0
		for bytes := int64(3 << 10); bytes <= 3<<28; bytes *= 2 {
			few, err1 := s.rank(bytes, seen)
			all, err2 := s.rank(bytes, nil)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			left += len(all) - len(few)
			if few[0].micros > same*all[0].micros {
				t.Errorf("%s %s, %d bytes: %v takes %.2f us, and %v %.2f", c.spec, c.target, bytes, few[0].Form, few[0].micros,
					all[0].Form, all[0].micros)
			}
		}
		if left == 0 {
			t.Errorf("%s %s: nothing is left out", c.spec, c.target)
		}
	}
}

// TestWidest holds that a range's program, and the second, are in the replicas that Widest has for them, as simulate
// takes them, and the CPU's in no more than it has.
func TestWidest(t *testing.T) {
	for _, spec := range []string{"h200:gpus=4", "cpu"} {
		s := selector(t, spec, "program")
		list, err := s.Sizes([]int64{1 << 10, 64 << 10, 1 << 20, 16 << 20})
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for _, r := range list {
			took := map[int]float64{}
			best := simulate.Widest(s.Topology.Device, r.At, s.Call.Ranks, func(n int) (float64, error) {
				wide := r.Form
				wide.Replicas = n
				us, err := s.time(wide, r.At, true)
				took[n] = us
				return us, err
			})
			if r.Replicas != best {
				t.Errorf("%s: %v at %d, and %d replicas are fastest: %v", spec, r.Form, r.At, best, took)
			}
			if _, o, err := s.fastest(r.Next, r.At); err != nil || r.Ratio <= near &&
				math.Abs(o.micros/r.Micros-r.Ratio) > 1e-9 {
				t.Errorf("%s: the second %v takes %v us at %d, and is said to be %vx: %v", spec, r.Next, o.micros, r.At,
					r.Ratio, err)
			}
			for n := range took {
				most = max(most, n)
			}
		}
		if want := map[string]int{"h200": 128, "cpu": executor.DefaultMaxReplicas}[s.Topology.Device]; most > want ||
			want == 128 && most < want {
			t.Errorf("%s: up to %d replicas, not %d", spec, most, want)
		}
	}
}

// TestSelectTargets holds that other runtimes get two-sided programs that fit them.
func TestSelectTargets(t *testing.T) {
	for _, target := range []string{"msccl", "rccl"} {
		s := selector(t, "h200:gpus=4", target)
		list, err := s.Sizes([]int64{1 << 10, 16 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			p, err := s.Program(r.Form)
			if err != nil || p.OneSided != nil || mscclc.Fits(p, s.Target).Err() != nil {
				t.Errorf("%s: %v: %v", target, r.Form, err)
			}
		}
		if last := list[len(list)-1]; last.Instances < 2 {
			t.Errorf("%s: %v has but one instance for 16 MiB", target, last.Form)
		}
	}
}

// TestFewest holds that with room for few stretches all sizes still have a program, and together lose the least.
func TestFewest(t *testing.T) {
	form := func(name string, micros float64) timed {
		return timed{Form{Choice: selection.Choice{Program: name}}, micros}
	}
	rank := func(list ...timed) []timed {
		slices.SortStableFunc(list, faster)
		return list
	}
	ranked := [][]timed{
		rank(form("a", 1), form("b", 2), form("c", 9), form("d", 8)),
		rank(form("a", 3), form("b", 2), form("c", 9), form("d", 8)),
		rank(form("a", 9), form("b", 4.5), form("c", 4), form("d", 8)),
		rank(form("a", 99), form("b", 50), form("d", 8)), // c does not serve it
	}
	names := func(list []timed) (text string) {
		for _, t := range list {
			text += t.Program
		}
		return text
	}
	if got := names(picks(ranked)); got != "abcd" || changes(picks(ranked)) != 4 {
		t.Errorf("picks %s", got)
	}
	for most, want := range map[int]string{1: "bbbb", 2: "bbbd", 3: "abbd", 4: "abcd", 9: "abcd"} {
		if got := names(fewest(ranked, most)); got != want {
			t.Errorf("%d stretches: %s, not %s", most, got, want)
		}
	}
	s := selector(t, "h200:gpus=4", "program")
	s.Most = 2
	list, err := s.Sizes([]int64{1 << 10, 64 << 10, 1 << 20, 64 << 20})
	if err != nil || len(list) != 2 || list[0].From != 0 || list[0].To != list[1].From || list[1].To != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestSelectApart: where GPUs do not reach each other's memory, all programs are staged, and none sends lines. LL is
// for the smallest sizes only, as its packets are slow in memory of the host.
func TestSelectApart(t *testing.T) {
	s := selector(t, "pcie_4gpu:apart=1", "program")
	list, err := s.Sizes([]int64{1 << 10, 64 << 10, 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.Placement != selection.Staged || r.Protocol.Row().Lines || r.At >= 64<<10 && r.Protocol != ir.Simple {
			t.Errorf("%d bytes: %v", r.At, r.Form)
		}
	}
}

// TestChooseApart holds that a call among GPUs that are apart goes by no rule of GPUs that reach each other's memory,
// and that its program reaches no buffer of another rank.
func TestChooseApart(t *testing.T) {
	for _, ranks := range []int{2, 4} {
		call := Call{Kind: ir.AllReduce, Ranks: ranks}
		for _, bytes := range []int64{1 << 10, 1 << 20} {
			near := &Chooser{Table: DefaultTable(), Device: "NVIDIA H200"}
			if _, measured, err := near.Choose(call, bytes, 2); err != nil || !measured {
				t.Errorf("%d ranks, %d bytes: %v, measured %v", ranks, bytes, err, measured)
			}
			far := &Chooser{Table: DefaultTable(), Device: "NVIDIA H200", Apart: true}
			v, measured, err := far.Choose(call, bytes, 2)
			if err != nil || measured || v.Placement != selection.Staged || v.Protocol.Row().Lines {
				t.Errorf("%d ranks, %d bytes, apart: %v, %v, measured %v", ranks, bytes, v, err, measured)
			}
		}
	}
}

package tuned

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mscclc/bundle"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/selection"
)

// form returns a program of a group that takes so much memory, with its times.
func form(program string, room int64, captured, eager float64) bundle.Timed {
	return bundle.Timed{Choice: selection.Choice{Program: program, Protocol: ir.Simple,
		Width: launch.Width{Replicas: 1, Threads: 128, Tile: 1 << 16}}, Share: 1 << 16,
		Room: room, Micros: [2]float64{captured, eager}}
}

// group returns what was measured of a collective of 2 ranks at 1M and 4M: a fast program that takes so much memory,
// and a slower one that takes little.
func group(collective string, room int64, fast float64) Sizes {
	s := Sizes{Group: Group{Collective: collective, Ranks: 2}, Done: true}
	for i, bytes := range []int64{1 << 20, 4 << 20} {
		scale := float64(i + 1)
		s.Sizes = append(s.Sizes, bundle.TimedSize{Bytes: bytes, NCCL: [2]float64{20 * scale, 20 * scale},
			Forms: []bundle.Timed{form(collective+"/allpairs", room, fast*scale, fast*scale),
				form(collective+"/ring", 1<<17, 18*scale, 18*scale)}})
	}
	return s
}

// programs returns what runs each size in captured launches.
func programs(d *Document, collective string) (list []string) {
	d.Conclude()
	for _, t := range d.Times {
		if t.Collective == collective && t.When == bundle.Captured {
			list = append(list, strings.TrimPrefix(t.Program, collective+"/"))
		}
	}
	return list
}

// TestRooms: memory goes to the group that gains most by it, and the others have programs that take little.
func TestRooms(t *testing.T) {
	d := &Document{Machine: Machine{Device: "NVIDIA H200"}}
	for _, collective := range []string{"allreduce", "allgather", "reducescatter", "alltoall", "reduce"} {
		fast := 10.0
		if collective == "alltoall" {
			fast = 5
		}
		d.Put(group(collective, 60<<20, fast), time.Now())
	}
	given := 0
	for _, collective := range []string{"allreduce", "allgather", "reducescatter", "reduce"} {
		if got := programs(d, collective); got[0] == "allpairs" {
			given++
		} else if got[0] != "ring" || got[1] != "ring" {
			t.Errorf("%s is run by %v", collective, got)
		}
	}
	if got := programs(d, "alltoall"); got[0] != "allpairs" || given != 2 {
		t.Errorf("alltoall, which gains most, is run by %v, and %d others have much memory, not 2", got, given)
	}
	if got := programs(d, "reduce"); got[0] != "ring" {
		t.Errorf("reduce, which jobs use less, is run by %v", got)
	}
}

// TestRoomsAlone: where NCCL was not measured, programs have the memory that all sizes need.
func TestRoomsAlone(t *testing.T) {
	s := group("allreduce", 32<<20, 10)
	for i := range s.Sizes {
		s.Sizes[i].NCCL = [2]float64{}
	}
	s.Sizes[0].Forms, s.Sizes[1].Forms = s.Sizes[0].Forms[1:], s.Sizes[1].Forms[:1] // large calls take more
	d := &Document{Machine: Machine{Device: "NVIDIA H200"}, Groups: []Sizes{s}}
	if got := programs(d, "allreduce"); !slices.Equal(got, []string{"ring", "allpairs"}) {
		t.Errorf("calls are run by %v", got)
	}
}

// TestF32: where NCCL is faster with f32, it has calls of that type, and only those.
func TestF32(t *testing.T) {
	s := group("allreduce", 1<<20, 10)
	s.F32 = map[int64][2]float64{4 << 20: {0.4, 1}}
	d := &Document{Machine: Machine{Device: "NVIDIA H200"}, Groups: []Sizes{s}}
	d.Conclude()
	found := map[string]int{}
	for _, r := range d.Rules.Rules {
		found[r.When+" "+r.DType+" "+r.Program]++
	}
	if found["captured f32 nccl"] != 1 || found["captured  allreduce/allpairs"] == 0 || found["eager f32 nccl"] > 0 {
		t.Errorf("the rules are %v", found)
	}
	if _, err := bundle.Build(SpecOf(Machine{Device: "NVIDIA H200", GPUs: 2}, d)); err != nil {
		t.Error(err)
	}
}

// TestBound: rules end at the largest size that was measured, and those that are built in follow.
func TestBound(t *testing.T) {
	d := &Document{Machine: Machine{Device: "NVIDIA H200"}, Groups: []Sizes{group("allgather", 1<<20, 10)}}
	d.Conclude()
	if last := d.Rules.Rules[len(d.Rules.Rules)-1]; last.UpTo != 4<<20 {
		t.Errorf("the last rule is for %d bytes, not 4M", last.UpTo)
	}
	larger := 0
	for _, r := range SpecOf(Machine{Device: "NVIDIA H200", GPUs: 2}, d).Rules {
		if r.Kind == ir.AllGather && r.Ranks == 2 && r.UpTo > 4<<20 && r.Program != "" && !r.Candidate() {
			larger++
		}
	}
	if larger == 0 {
		t.Error("no rule is for larger calls, and some are built in")
	}
}

// TestBorders: calls above the last size that a program won at have the next rule, whether sizes between were measured
// or not, and so it is with invariant bits, whatever NCCL takes.
func TestBorders(t *testing.T) {
	const little = 1 << 17
	size := func(bytes int64, ring, pairs float64) bundle.TimedSize {
		return bundle.TimedSize{Bytes: bytes, NCCL: [2]float64{9, 9}, Forms: []bundle.Timed{
			form("allreduce/ring", little, ring, ring), form("allreduce/allpairs", little, pairs, pairs)}}
	}
	first, last := size(1<<20, 5, 10), size(4<<20, 30, 10)
	slow, fast := size(2<<20, 39.5, 13.4), size(2<<20, 5, 10)
	for _, c := range []struct {
		sizes []bundle.TimedSize
		bits  string
		want  string
	}{
		{[]bundle.TimedSize{first, last}, "", "ring 1M, nccl 4M, "},
		{[]bundle.TimedSize{first, last}, selection.Invariant, "ring 1M, allpairs 4M, "},
		{[]bundle.TimedSize{first, slow, last}, selection.Invariant, "ring 1M, allpairs 4M, "},
		{[]bundle.TimedSize{first, fast, last}, selection.Invariant, "ring 2M, allpairs 4M, "},
	} {
		d := &Document{Machine: Machine{Device: "NVIDIA H200"}, Groups: []Sizes{{Group: Group{Collective: "allreduce",
			Ranks: 4, Bits: c.bits}, Sizes: c.sizes, Done: true}}}
		d.Conclude()
		for _, when := range []string{bundle.Captured, bundle.Eager} {
			got := ""
			for _, r := range d.Rules.Rules {
				if r.When == when {
					got += fmt.Sprintf("%s %dM, ", strings.TrimPrefix(r.Program, "allreduce/"), r.UpTo>>20)
				}
			}
			if got != c.want {
				t.Errorf("%d sizes, %s: %s rules are %s, not %s", len(c.sizes), c.bits, when, got, c.want)
			}
		}
	}
}

// TestKept: what was found is read again on the same machine, and only there.
func TestKept(t *testing.T) {
	t.Setenv("MSCCLC_CACHE", t.TempDir())
	m := Machine{Device: "NVIDIA H200", GPUs: 2, Links: "NVLink", Driver: "CUDA 13.0", NCCL: "2.28.9", Kernels: "1"}
	d := &Document{Machine: m}
	d.Put(group("allgather", 1<<20, 10), time.Now())
	if err := d.Write(); err != nil {
		t.Fatal(err)
	}
	got, err := Read(m)
	if err == nil {
		got.Conclude()
	}
	if err != nil || got.Title() != d.Title() || len(got.Times) != 4 || !got.Done(d.Groups[0].Group, 4<<20) {
		t.Errorf("read %+v: %v", got, err)
	}
	for _, change := range []func(*Machine){
		func(m *Machine) { m.Device = "NVIDIA H100" }, func(m *Machine) { m.GPUs = 8 }, func(m *Machine) { m.Links = "PCIe" },
		func(m *Machine) { m.Driver = "CUDA 12.8" }, func(m *Machine) { m.NCCL = "2.29.1" }, func(m *Machine) { m.Kernels = "2" },
	} {
		other := m
		change(&other)
		if _, err := Read(other); !os.IsNotExist(err) {
			t.Errorf("%v: %v", other, err)
		}
	}
	if MeasuredOn(d.Title()) != m.String() || MeasuredOn("those that are built in, then NCCL's") != "" {
		t.Errorf("the note %q names %q", d.Title(), MeasuredOn(d.Title()))
	}
}

// TestOthers: all that was found with GPUs of a name is listed, the newest first, with what differs.
func TestOthers(t *testing.T) {
	t.Setenv("MSCCLC_CACHE", t.TempDir())
	m := Machine{Device: "NVIDIA H200", GPUs: 2, Links: "NVLink", Driver: "CUDA 13.0", NCCL: "2.28.9", Kernels: "1"}
	old, other := m, m
	old.NCCL, old.GPUs, other.Device = "", 4, "NVIDIA H100"
	for i, machine := range []Machine{old, other, m} {
		d := &Document{Machine: machine}
		d.Put(group("allgather", 1<<20, 10), time.Now().Add(time.Duration(i)*time.Minute))
		if err := d.Write(); err != nil {
			t.Fatal(err)
		}
	}
	list := Kept(m.Device)
	if len(list) != 2 || list[0].Machine != m || list[1].Machine != old {
		t.Errorf("kept are %v", list)
	}
	want := "the number of GPUs is 4 there and 2 here; NCCL is none there and 2.28.9 here"
	if got := old.Unlike(m); got != want || m.Unlike(m) != "" {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestConclude: all groups have times, whatever their order.
func TestConclude(t *testing.T) {
	d := &Document{Machine: Machine{Device: "NVIDIA H200"}}
	for _, kind := range bundle.Kinds {
		d.Groups = append(d.Groups, group(kind.String(), 1<<20, 10))
	}
	d.Conclude()
	other := &Document{Machine: d.Machine, Groups: slices.Clone(d.Groups)}
	slices.Reverse(other.Groups)
	other.Conclude()
	slices.SortStableFunc(other.Times, func(a, b Time) int {
		return slices.Index(bundle.KindNames(), a.Collective) - slices.Index(bundle.KindNames(), b.Collective)
	})
	if len(d.Times) != 4*len(bundle.Kinds) || !slices.Equal(d.Times, other.Times) {
		t.Errorf("times are\n%v, and\n%v", d.Times, other.Times)
	}
}

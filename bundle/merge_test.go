package bundle

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/selection"
)

// timed returns a form with one time for both launches.
func timed(program, protocol string, replicas int, micros float64) Timed {
	c := selection.Choice{Program: program, Width: launch.Width{Replicas: replicas, Threads: 512, Tile: 64 << 10}}
	c.Protocol, _ = ir.ProtocolByName(protocol)
	return Timed{c, 64 << 10, int64(replicas) << 20, [numLaunches]float64{micros, micros}}
}

func brief(rules []MeasuredRule) string {
	s := ""
	for _, r := range rules {
		protocol := r.Protocol.String()
		if r.Program == NCCL {
			protocol = ""
		}
		s += fmt.Sprintf("%d %s %s %d; ", r.UpTo, r.Program, protocol, r.Replicas)
	}
	return s
}

func TestMerge(t *testing.T) {
	for _, c := range []struct {
		name            string
		sizes           []TimedSize
		eager, captured string
	}{
		{"nothing", nil, "", ""},
		{"NCCL where it is within 3 %", []TimedSize{
			{1 << 10, []Timed{timed("a", "LL", 4, 10)}, [numLaunches]float64{10.2, 20}},
			{4 << 10, []Timed{timed("a", "LL", 4, 10)}, [numLaunches]float64{20, 20}},
		}, "4096 a LL 4; ", "1024 nccl  0; 4096 a LL 4; "},
		{"one program within 2 % of two", []TimedSize{
			{1 << 10, []Timed{timed("a", "LL", 4, 10), timed("b", "LL", 4, 10.1)}, [numLaunches]float64{}},
			{4 << 10, []Timed{timed("b", "LL", 4, 10), timed("c", "LL", 4, 10.1)}, [numLaunches]float64{}},
		}, "4096 b LL 4; ", "4096 b LL 4; "},
		{"two where they differ", []TimedSize{
			{1 << 10, []Timed{timed("a", "LL", 4, 10), timed("b", "LL", 4, 10.3)}, [numLaunches]float64{}},
			{1 << 30, []Timed{timed("b", "LL", 4, 10), timed("a", "LL", 4, 10.3)}, [numLaunches]float64{}},
		}, "1024 a LL 4; 0 b LL 4; ", "1024 a LL 4; 0 b LL 4; "},
		{"few replicas within 2 %", []TimedSize{
			{1 << 10, []Timed{timed("a", "LL", 32, 10), timed("a", "LL", 16, 10.05), timed("a", "LL", 8, 10.25)},
				[numLaunches]float64{}},
		}, "1024 a LL 16; ", "1024 a LL 16; "},
		{"a program alike the fastest, and no faster than NCCL", []TimedSize{
			{1 << 10, []Timed{timed("a", "LL", 4, 10), timed("b", "LL", 4, 10.1)}, [numLaunches]float64{10.35, 10.35}},
			{4 << 10, []Timed{timed("b", "LL", 4, 10)}, [numLaunches]float64{20, 20}},
		}, "1024 a LL 4; 4096 b LL 4; ", "1024 a LL 4; 4096 b LL 4; "},
		{"a size shortly before a power of two, and that power", []TimedSize{
			{1984 << 10, []Timed{timed("a", "LL", 4, 10)}, [numLaunches]float64{}},
			{2 << 20, []Timed{timed("b", "LL", 4, 10)}, [numLaunches]float64{}},
		}, "2031616 a LL 4; 2097152 b LL 4; ", "2031616 a LL 4; 2097152 b LL 4; "},
		{"a size shortly before a power of two, and one that is rounded down to 3 elements", []TimedSize{
			{1984 << 10, []Timed{timed("a", "LL", 4, 10)}, [numLaunches]float64{}},
			{2<<20 - 2, []Timed{timed("b", "LL", 4, 10)}, [numLaunches]float64{}},
			{4<<20 - 4, []Timed{timed("a", "LL", 4, 10)}, [numLaunches]float64{}},
		}, "2031616 a LL 4; 2097152 b LL 4; 4194304 a LL 4; ", "2031616 a LL 4; 2097152 b LL 4; 4194304 a LL 4; "},
	} {
		eager, captured := Merge("allreduce", 2, c.sizes, 1<<30)
		if got := brief(eager); got != c.eager {
			t.Errorf("%s: eager %s, not %s", c.name, got, c.eager)
		}
		if got := brief(captured); got != c.captured {
			t.Errorf("%s: captured %s, not %s", c.name, got, c.captured)
		}
	}
}

// TestEnd: a rule ends at the size that was measured, or at the power of two that this is but for a piece of elements.
func TestEnd(t *testing.T) {
	for bytes, want := range map[int64]int64{1: 1, 1 << 20: 1 << 20, 1020: 1024, 1<<20 - 4: 1 << 20, 1<<20 + 2: 1<<20 + 2,
		3 << 20: 3 << 20, 120 << 20: 120 << 20, 100_000_000: 100_000_000} {
		if got := End(bytes); got != want {
			t.Errorf("%d bytes: %d, not %d", bytes, got, want)
		}
	}
}

// TestServes: a choice counts as fast as a time where it was measured, and is not more than 2 % slower.
func TestServes(t *testing.T) {
	a, b := timed("a", "LL", 4, 10), timed("b", "LL", 4, 0)
	s := TimedSize{Forms: []Timed{a, b}}
	for _, c := range []struct {
		form   Timed
		micros float64
		want   bool
	}{{a, 10, true}, {a, 9.9, true}, {a, 9.7, false}, {b, 10, false}, {timed("a", "LL", 8, 10), 10, false}} {
		if got := s.Serves(c.form.Choice, byGraph, c.micros); got != c.want {
			t.Errorf("%s in %d replicas for %v us: %v", c.form.Program, c.form.Replicas, c.micros, got)
		}
	}
}

// TestMergeRoom: where there is less room than the fastest forms take, those are replaced that cost the least, and at
// last by NCCL.
func TestMergeRoom(t *testing.T) {
	sizes := []TimedSize{
		{1 << 10, []Timed{timed("a", "LL", 32, 10), timed("a", "LL", 8, 11)}, [numLaunches]float64{20, 20}},
		{1 << 30, []Timed{timed("b", "LL", 32, 10), timed("b", "LL", 8, 15)}, [numLaunches]float64{20, 20}},
	}
	for _, c := range []struct {
		room int64
		want string
	}{
		{64 << 20, "1024 a LL 32; 0 b LL 32; "},
		{40 << 20, "1024 a LL 8; 0 b LL 32; "},
		{16 << 20, "1024 a LL 8; 0 b LL 8; "},
		{8 << 20, "1024 a LL 8; 0 nccl  0; "},
		{0, "0 nccl  0; "},
	} {
		eager, captured := Merge("allreduce", 2, sizes, c.room)
		if got := brief(eager); got != c.want || brief(captured) != c.want {
			t.Errorf("room %d: %s and %s, not %s", c.room, got, brief(captured), c.want)
		}
	}
}

// TestMergePlateau: two programs of large calls are about as fast, so that it saves nothing to give up the widest form
// of one. What is given up is still a little time of these calls, and not the program of small calls.
func TestMergePlateau(t *testing.T) {
	sizes := []TimedSize{
		{1 << 10, []Timed{timed("a", "LL", 1, 10)}, [numLaunches]float64{30, 30}},
		{1 << 30, []Timed{timed("b", "LL", 32, 10), timed("c", "LL", 32, 10.5), timed("b", "LL", 8, 11),
			timed("c", "LL", 8, 11.5)}, [numLaunches]float64{30, 30}},
	}
	eager, _ := Merge("allreduce", 2, sizes, 20<<20)
	if got := brief(eager); got != "1024 a LL 1; 0 b LL 8; " {
		t.Errorf("rules are %s", got)
	}
}

// TestMergeLeast compares what Merge gives up for room with the least that must be given up, which all limits of all
// programs show.
func TestMergeLeast(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	worse, most := 0, 0.0
	const cases = 60
	for range cases {
		m := newMerger(randomSizes(rnd))
		room := int64(float64(m.room) * (0.1 + 0.8*rnd.Float64()))
		least := leastCost(m, room)
		m.fit(room)
		if m.room > room {
			t.Fatalf("%d bytes, and there is room for %d", m.room, room)
		}
		if more := m.cost - least; more > 1e-9 {
			worse++
			most = max(most, more)
		}
	}
	t.Logf("%d of %d are worse, by a factor of up to %.2f in all times together", worse, cases, math.Exp(most))
	if worse > cases/10 || most > math.Log(1.5) {
		t.Error("Merge gives up more than it must")
	}
}

// randomSizes are three sizes with three programs of two widths, which take more room in larger calls.
func randomSizes(rnd *rand.Rand) (sizes []TimedSize) {
	for i := range 3 {
		s := TimedSize{Bytes: 1 << (10 + 4*i)}
		fastest := math.Inf(1)
		for p := range 3 {
			for _, replicas := range []int{4, 16} {
				micros := math.Round(1000*math.Exp(rnd.Float64())) / 100
				f := timed(string(rune('a'+p)), "LL", replicas, micros)
				f.Share = 1 << (10 + 2*i)
				f.Room = int64(replicas) * f.Share * int64(1+p)
				s.Forms = append(s.Forms, f)
				fastest = min(fastest, micros)
			}
		}
		nccl := fastest * (1 + 2*rnd.Float64())
		s.NCCL = [numLaunches]float64{nccl, nccl}
		sizes = append(sizes, s)
	}
	return sizes
}

func pairOf(program string) selection.Choice {
	return selection.Choice{Program: program, Protocol: ir.LL}
}

// leastCost returns the least cost of all limits that fit into the room.
func leastCost(m *merger, room int64) float64 {
	var limits []limit
	for _, replicas := range []int{4, 16, 0} {
		for _, share := range []int64{1 << 10, 1 << 12, 1 << 14, 0} {
			limits = append(limits, limit{replicas, share})
		}
	}
	of := func(m *merger, program string, l limit) *merger {
		return m.limited(slices.Index(m.pairs, pairOf(program)), l)
	}
	least := math.Inf(1)
	for _, a := range limits {
		of1 := of(m, "a", a)
		for _, b := range limits {
			of2 := of(of1, "b", b)
			for _, c := range limits {
				if n := of(of2, "c", c); n.room <= room {
					least = min(least, n.cost)
				}
			}
		}
	}
	return least
}

package bundle

import (
	"fmt"
	"testing"
)

// timed is a form with one time for both launches.
func timed(program, protocol string, columns int, micros float64) Timed {
	return Timed{program, protocol, columns, 512, 64 << 10, 64 << 10, int64(columns) << 20,
		[numLaunches]float64{micros, micros}}
}

func brief(rules []MeasuredRule) string {
	s := ""
	for _, r := range rules {
		s += fmt.Sprintf("%d %s %s %d; ", r.UpTo, r.Program, r.Protocol, r.Columns)
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
		}, "8192 a LL 4; ", "2048 nccl  0; 8192 a LL 4; "},
		{"one program within 2 % of two", []TimedSize{
			{1 << 10, []Timed{timed("a", "LL", 4, 10), timed("b", "LL", 4, 10.1)}, [numLaunches]float64{}},
			{4 << 10, []Timed{timed("b", "LL", 4, 10), timed("c", "LL", 4, 10.1)}, [numLaunches]float64{}},
		}, "8192 b LL 4; ", "8192 b LL 4; "},
		{"two where they differ", []TimedSize{
			{1 << 10, []Timed{timed("a", "LL", 4, 10), timed("b", "LL", 4, 10.3)}, [numLaunches]float64{}},
			{1 << 30, []Timed{timed("b", "LL", 4, 10), timed("a", "LL", 4, 10.3)}, [numLaunches]float64{}},
		}, "1048576 a LL 4; 0 b LL 4; ", "1048576 a LL 4; 0 b LL 4; "},
		{"few replicas within 2 %", []TimedSize{
			{1 << 10, []Timed{timed("a", "LL", 32, 10), timed("a", "LL", 16, 10.05), timed("a", "LL", 8, 10.25)},
				[numLaunches]float64{}},
		}, "2048 a LL 16; ", "2048 a LL 16; "},
		{"a program alike the fastest, and no faster than NCCL", []TimedSize{
			{1 << 10, []Timed{timed("a", "LL", 4, 10), timed("b", "LL", 4, 10.1)}, [numLaunches]float64{10.35, 10.35}},
			{4 << 10, []Timed{timed("b", "LL", 4, 10)}, [numLaunches]float64{20, 20}},
		}, "2048 a LL 4; 8192 b LL 4; ", "2048 a LL 4; 8192 b LL 4; "},
	} {
		eager, captured := Merge("allreduce", 2, c.sizes, 4, 1<<30)
		if got := brief(eager); got != c.eager {
			t.Errorf("%s: eager %s, not %s", c.name, got, c.eager)
		}
		if got := brief(captured); got != c.captured {
			t.Errorf("%s: captured %s, not %s", c.name, got, c.captured)
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
		{64 << 20, "1048576 a LL 32; 0 b LL 32; "},
		{40 << 20, "1048576 a LL 8; 0 b LL 32; "},
		{16 << 20, "1048576 a LL 8; 0 b LL 8; "},
		{8 << 20, "1048576 a LL 8; 0 nccl  0; "},
		{0, "0 nccl  0; "},
	} {
		eager, captured := Merge("allreduce", 2, sizes, 4, c.room)
		if got := brief(eager); got != c.want || brief(captured) != c.want {
			t.Errorf("room %d: %s and %s, not %s", c.room, got, brief(captured), c.want)
		}
	}
}

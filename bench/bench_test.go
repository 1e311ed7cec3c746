package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mscclc/executor/data"
	"mscclc/ir"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		times []time.Duration
		want  time.Duration
	}{{nil, 0}, {[]time.Duration{3}, 3}, {[]time.Duration{9, 1, 5}, 5}, {[]time.Duration{1, 100, 3, 5}, 4}} {
		if got := median(c.times); got != c.want {
			t.Errorf("%v: %v", c.times, got)
		}
	}
	if g := geoMean([]float64{1, 4}); math.Abs(g-2) > 1e-12 || geoMean(nil) != 0 {
		t.Error(g)
	}
	for of, want := range map[Of][]time.Duration{SlowestRank: {5, 9}, FastestRank: {1, 2}, MeanOfRanks: {3, 5},
		RankZero: {1, 9}} {
		if s := combined([][]time.Duration{{1, 9}, {5, 2}}, of); !slices.Equal(s, want) {
			t.Error(of, s)
		}
	}
	m := Measuring{Target: time.Millisecond}
	for once, want := range map[time.Duration]int{0: 400, time.Microsecond: 400, 10 * time.Microsecond: 100,
		time.Second: 1} {
		if n := m.launches(once); n != want {
			t.Errorf("%v: %d launches", once, n)
		}
	}
	if s := Sizes(1024, 100000, 4); !slices.Equal(s, []int64{1024, 4096, 16384, 65536}) {
		t.Error(s)
	}
	if s := Sizes(1<<49, 1<<50, 1<<40); !slices.Equal(s, []int64{1 << 49}) {
		t.Error(s)
	}
}

// TestSteps holds the sizes from 0 on and those of equal steps, and launches in groups.
func TestSteps(t *testing.T) {
	for _, c := range []struct{ got, want []int64 }{
		{Sizes(0, 16, 4), []int64{0, 1, 4, 16}}, {Sizes(0, 0, 2), []int64{0}},
		{Steps(0, 3000, 1000), []int64{0, 1000, 2000, 3000}}, {Steps(5, 7, 1<<62), []int64{5}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%d, want %d", c.got, c.want)
		}
	}
	for launches, want := range map[int]int{0: 99, 2: 6} {
		m := Measuring{Launches: launches, Group: 3, Target: time.Millisecond}
		if n := m.launches(10 * time.Microsecond); n != want {
			t.Errorf("%d launches, want %d", n, want)
		}
	}
}

// TestSpread holds the figures of nccl-tests' columns.
func TestSpread(t *testing.T) {
	var each []time.Duration
	for i := range 101 {
		each = append(each, time.Duration(100-i)*time.Microsecond)
	}
	s := spreadOf(each, 1) // 0 to 99
	if s.Min != 0 || s.Max != 99 || s.P50 != 50 || s.P95 != 94 || s.P99 != 98 || s.Mean != 49.5 || len(s.Times) != 101 ||
		math.Abs(s.StdDev-28.866) > 1e-3 || math.Abs(s.CV-58.315) > 1e-3 {
		t.Errorf("%+v", *s)
	}
	if s := spreadOf(each[:1], 1); s.Max != 0 || len(s.Times) != 1 {
		t.Errorf("%+v", *s)
	}
}

// The factors of nccl-tests' PERFORMANCE page.
func TestBusFactor(t *testing.T) {
	for kind, want := range map[ir.Kind]float64{ir.AllReduce: 1.75, ir.AllGather: 0.875, ir.ReduceScatter: 0.875,
		ir.AllToAll: 0.875, ir.Broadcast: 1, ir.ReduceTo: 1, ir.SendRecv: 1} {
		if f := (&ir.Collective{Kind: kind, Ranks: 8}).BusFactor(); f != want {
			t.Errorf("%v: %v", kind, f)
		}
	}
}

// sample returns a report with everything in it.
func sample() *Report {
	coll := &ir.Collective{Kind: ir.AllReduce, Ranks: 8, Chunks: 1}
	r := &Report{Coll: coll, Algo: "the catalog's variants", Device: "NVIDIA H200", Driver: "CUDA 13.0",
		NCCL: 22809, NCCLPath: "libnccl.so.2", MinBytes: 1 << 10, MaxBytes: 1 << 30, Factor: 4,
		Measuring: Measuring{Replays: 7, Warmup: 2, Target: 2 * time.Millisecond}, Processes: 1,
		Devices: []Device{{Rank: 0, PID: 71, Host: "node", Info: "GPU 0 (NVIDIA H200)"},
			{Rank: 1, PID: 71, Host: "node", Number: 1, Info: "GPU 1 (NVIDIA H200)"}}}
	ours := []float64{5.42, 6.1, 6.6, 8.31, 9.9, 14.25, 35.4, 108.7, 384.2, 1370, 5240.5}
	for i, t := range ours {
		bytes := int64(1024) << (2 * i)
		nccl := 23 + float64(bytes)/2.05e5
		result := func(t, n float64) *Result {
			return &Result{Time: t, Launches: 100, How: "graph", Form: "allpairs LL16 8x512",
				Found: Found{Checked: 8 * bytes / 2}, Rival: &Rival{Time: n, How: "graph", Other: n + 3}}
		}
		r.Rows = append(r.Rows, &Row{DType: data.BF16, Bytes: bytes, Count: bytes / 2, OutOfPlace: result(t, nccl),
			InPlace: result(t*0.97, nccl*1.02)})
	}
	r.Rows[1].InPlace.Form = "allpairs LL 8x512"
	r.Rows[2].InPlace = nil
	r.Rows[3].OutOfPlace = &Result{Err: errors.New("no room\nfor anything")}
	r.Rows[4].OutOfPlace.Wrong, r.Rows[4].InPlace.Rival.Wrong = 3, 1
	return r
}

func TestReport(t *testing.T) {
	var b bytes.Buffer
	r := sample()
	r.Header(&b)
	for _, row := range r.Rows {
		r.WriteRow(&b, row)
	}
	r.Footer(&b)
	const golden = "testdata/report.txt"
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile(golden, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || b.String() != string(want) {
		t.Errorf("%v\n%s", err, b.String())
	}
	if r.Wrong() != 3 || r.Outside() != 0 {
		t.Error(r.Wrong(), r.Outside())
	}
}

// Every row without NCCL has nccl-tests' thirteen columns first.
func TestColumns(t *testing.T) {
	r := sample()
	r.NCCL = 0
	var b bytes.Buffer
	for _, row := range r.Rows {
		b.Reset()
		r.WriteRow(&b, row)
		if f := strings.Fields(b.String()); len(f) < 13 || f[2] != "bfloat16" || f[3] != "sum" || f[4] != "-1" {
			t.Errorf("%q", f)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "   0.00", 5.426: "   5.43", 5240.5: "5240.50", 52405.44: "52405.4",
		5240544: "5240544"} {
		if got := number(v, 7); got != want {
			t.Errorf("%v: %q", v, got)
		}
	}
}

func TestDocument(t *testing.T) {
	r := sample()
	when := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	text, err := json.Marshal(r.Document(1, []string{"mscclc"}, when, when))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Schema, Version int
		Results         []struct {
			Size, Count  int64
			Type, RedOp  string
			Root         string
			Out_of_place *struct {
				Time, Alg_bw, Bus_bw float64
				NWrong               int64
				Error                string
				NCCL                 *struct{ Ratio float64 }
			}
			In_place *struct{ Time float64 }
		}
		Out_of_bounds         struct{ Okay string }
		Average_bus_bandwidth struct{ Bandwidth float64 }
		Speedups              []Speedup
		Errors                []string
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != 1 || doc.Version != 1 || len(doc.Results) != 11 || doc.Out_of_bounds.Okay != "true" ||
		doc.Average_bus_bandwidth.Bandwidth <= 0 {
		t.Errorf("%s", text)
	}
	first := doc.Results[0]
	if p := first.Out_of_place; first.Size != 1024 || first.Count != 512 || first.Type != "bfloat16" ||
		first.Root != "-1" || p.Time != 5.42 || math.Abs(p.Bus_bw-1.75*p.Alg_bw) > 1e-9 || p.NCCL.Ratio < 4 {
		t.Errorf("%+v %+v", first, first.Out_of_place)
	}
	if doc.Results[2].In_place != nil || doc.Results[3].Out_of_place.Error == "" || len(doc.Errors) != 1 ||
		len(doc.Speedups) != 2 {
		t.Errorf("%s", text)
	}
}

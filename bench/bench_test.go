package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot"

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
	if s := slowest([][]time.Duration{{1, 9}, {5, 2}}); !slices.Equal(s, []time.Duration{5, 9}) {
		t.Error(s)
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

// The factors of nccl-tests' PERFORMANCE page.
func TestBusFactor(t *testing.T) {
	for kind, want := range map[ir.Kind]float64{ir.AllReduce: 1.75, ir.AllGather: 0.875, ir.ReduceScatter: 0.875,
		ir.AllToAll: 0.875, ir.Broadcast: 1, ir.ReduceTo: 1, ir.SendRecv: 1} {
		if f := BusFactor(&ir.Collective{Kind: kind, Ranks: 8}); f != want {
			t.Errorf("%v: %v", kind, f)
		}
	}
}

// sample is a report with everything in it.
func sample() *Report {
	coll := &ir.Collective{Kind: ir.AllReduce, Ranks: 8, Chunks: 1}
	r := &Report{Coll: coll, DType: data.BF16, Algo: "the catalog's variants", Device: "NVIDIA H200", Driver: "CUDA 13.0",
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
		r.Rows = append(r.Rows, &Row{Bytes: bytes, Count: bytes / 2, OutOfPlace: result(t, nccl),
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

// Pictures are of their format, and show each curve.
func TestPlot(t *testing.T) {
	r := sample()
	draw := func(name string) []byte {
		var b bytes.Buffer
		if err := r.Plot(&b, name); err != nil {
			t.Fatal(err)
		}
		if dir := os.Getenv("MSCCLC_PICTURES"); dir != "" {
			if err := os.WriteFile(dir+"/"+name, b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return b.Bytes()
	}
	svg := draw("a.svg")
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []string{"mscclc, out of place", "mscclc, in place", "NCCL 2.28.9, in place", "1G", "1K",
		"us", "GB/s", "allreduce, 8 x NVIDIA H200, bf16"} {
		if !bytes.Contains(svg, []byte(s)) {
			t.Errorf("the picture does not say %q", s)
		}
	}
	below := textHeight(t, svg, "bytes")
	for _, name := range []string{"mscclc, out of place", "mscclc, in place", "NCCL 2.28.9, out of place",
		"NCCL 2.28.9, in place"} {
		if y := textHeight(t, svg, name); y >= below-5 || y < 2 {
			t.Errorf("the legend %q is %v above the bottom, and the axes end at %v", name, y, below)
		}
	}
	labelsBeforeTicks(t, svg)
	if img, err := png.Decode(bytes.NewReader(draw("a.png"))); err != nil || img.Bounds().Dx() < 500 {
		t.Error(err)
	}
	for _, rows := range [][]*Row{nil, r.Rows[:1], r.Rows[10:], {{Bytes: 0}}} { // no line at all, or of one point
		r.Rows = rows
		draw("b.svg")
	}
}

// labelsBeforeTicks: the labels of the left axis end before its ticks, also with a font that is a fifth wider than that
// by which the drawing is laid out.
func labelsBeforeTicks(t *testing.T, svg []byte) {
	t.Helper()
	number := func(b []byte) float64 {
		x, err := strconv.ParseFloat(string(b), 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	ticks := math.Inf(1)
	for _, line := range regexp.MustCompile(`d="M([0-9.]+),([0-9.]+)L([0-9.]+),([0-9.]+)"`).FindAllSubmatch(svg, -1) {
		if length := number(line[3]) - number(line[1]); string(line[2]) == string(line[4]) && length > 3 && length < 12 {
			ticks = min(ticks, number(line[1]))
		}
	}
	labels := 0
	style := plot.New().Y.Tick.Label
	for _, m := range regexp.MustCompile(`<text x="([0-9.]+)"[^>]*>([0-9.]+)<`).FindAllSubmatch(svg, -1) {
		x, width := number(m[1]), float64(style.Width(string(m[2])))
		if x > ticks {
			continue // of another axis
		}
		labels++
		if x+1.2*width > ticks {
			t.Errorf("the label %s from %.1f on, %.1f wide, reaches the ticks at %.1f", m[2], x, width, ticks)
		}
	}
	if labels < 3 {
		t.Errorf("the left axis has %d labels before its ticks at %v", labels, ticks)
	}
}

// textHeight is how far above the bottom of a drawing its first text that reads so lies.
func textHeight(t *testing.T, svg []byte, text string) (y float64) {
	t.Helper()
	at := regexp.MustCompile(`<text x="[-0-9.]+" y="-([0-9.]+)" transform="scale\(1, -1\)"\s+style="[^"]*">` +
		regexp.QuoteMeta(text) + "<")
	found := at.FindSubmatch(svg)
	if found == nil {
		t.Fatalf("the picture does not say %q", text)
	}
	y, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

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

func (*fakeSite) Name() string      { return "fake" }
func (*fakeSite) Driver() string    { return "" }
func (*fakeSite) Devices() []Device { return nil }
func (*fakeSite) Close() error      { return nil }
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

// hill is fastest with 16 columns of 512 threads and tiles of 64 KiB.
func hill(f *Form) float64 {
	steps := func(v, best float64) float64 { return math.Abs(math.Log2(max(v, 1) / best)) }
	base := map[string]float64{"slow": 100, "good": 10, "close": 11, "broken": -1}[f.Name]
	if f.Columns == 0 {
		f.Columns, f.Threads, f.Tile = 4, 1024, 8<<10 // what the executor would choose
	}
	return base * (1 + steps(float64(f.Columns), 16)/10 + steps(float64(f.Threads), 512)/10 +
		steps(float64(f.Tile), 64<<10)/10)
}

func TestTune(t *testing.T) {
	p := &ir.Program{OneSided: &ir.OneSided{}}
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
	if b := tried[0]; b.Name != "good" || b.Columns != 16 || b.Threads != 512 || b.Tile != 64<<10 || site.measured > 110 {
		t.Errorf("%+v after %d measurements", b, site.measured)
	}
	// What is wrong does not win, and what fails everywhere is told.
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
		if f.Columns == 0 {
			f.Columns, f.Threads, f.Tile = 16, 512, 64<<10
		}
		return hill(&Form{Name: "good", Columns: f.Columns, Threads: f.Threads, Tile: 64 << 10}) * (1 +
			1e-4*float64(1<<20)/float64(f.Tile) + max(0, 128<<10-float64(f.Tile))/(1<<20))
	}}
	search := &Search{Site: site, Most: 200}
	tried, err := search.Tune(context.Background(), &Call{},
		[]*Form{{Name: "good", Program: &ir.Program{OneSided: &ir.OneSided{}}}})
	if err != nil {
		t.Fatal(err)
	}
	if b := tried[0]; b.Columns != 16 || b.Threads != 512 || b.Tile != 128<<10 {
		t.Errorf("%+v", b)
	}
}

// A size that fails has its error in its row, and the next is measured.
func TestRunGoesOn(t *testing.T) {
	site := &fakeSite{time: func(f *Form) float64 { return float64(f.Columns) }}
	report := sample()
	report.Rows = nil
	rows := 0
	job := &Job{Site: site, Coll: report.Coll, DType: data.BF16, Sizes: []int64{1 << 10, 1 << 12},
		Row: func(*Row) { rows++ }, Form: func(bytes int64, inplace bool) (*Form, error) {
			if inplace {
				return nil, nil
			}
			return &Form{Name: "f", Columns: int(bytes>>10) - 2}, nil
		},
		Rivals: func(context.Context, *Call) ([]Op, error) {
			return []Op{fakeOp{&Form{Name: "graph", Columns: 6}}, fakeOp{&Form{Name: "plain", Columns: 3}}}, nil
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

package bitwise_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir/bitwise"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/lang"
)

// compileAllReduce compiles a program of the catalog for our own executor.
func compileAllReduce(t *testing.T, name string, params lang.Params, oneSided bool) *either.Program {
	t.Helper()
	text, err := algorithms.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := codegen.TargetByName("program")
	if err != nil {
		t.Fatal(err)
	}
	p, err := mscclc.Compile(name+".mscl", text, mscclc.Options{Lang: lang.Options{Params: params, Open: algorithms.Open},
		Target: plan, OneSided: oneSided})
	if err != nil {
		t.Fatalf("%s %v: %v", name, params, err)
	}
	return p
}

// A shape is a program of the catalog with parameters.
type shape struct {
	name, label string
	params      lang.Params
}

// allReduces returns the AllReduce of the catalog at several numbers of ranks.
func allReduces() []shape {
	var list []shape
	add := func(name, label string, params ...string) {
		m := lang.Params{}
		for i := 0; i < len(params); i += 2 {
			m[params[i]] = params[i+1]
		}
		list = append(list, shape{name, label, m})
	}
	for _, name := range algorithms.Names() {
		base, ok := strings.CutPrefix(name, "allreduce/")
		text, err := algorithms.Open(name)
		if err != nil {
			panic(err) // it is embedded
		}
		is := func(what string) bool { return strings.Contains(string(text), what) }
		switch {
		case !ok || !is("\nalgorithm "): // libraries
		case is("nodes = "):
			for _, s := range [][2]int{{2, 2}, {2, 3}, {3, 2}, {4, 2}, {2, 4}, {3, 3}, {3, 4}, {4, 4}} {
				add(name, fmt.Sprintf("%dx%d", s[0], s[1]), "nodes", fmt.Sprint(s[0]), "gpus", fmt.Sprint(s[1]))
			}
		default:
			for _, n := range []int{2, 3, 4, 5, 6, 7, 8, 12, 16} {
				if is("\n# Ranks: powers of two") && n&(n-1) != 0 {
					continue
				}
				add(name, fmt.Sprint(n), "ranks", fmt.Sprint(n))
				if base == "allpairs_onestep" {
					add(name+" ordered", fmt.Sprint(n), "ranks", fmt.Sprint(n), "ordered", "true")
				}
			}
		}
	}
	return list
}

// TestBitwiseRuns runs every AllReduce of the catalog on numbers of very
// different magnitudes: where the sums of a type are judged alike, all ranks get
// the same bits, and where they are not, some data shows it. It keeps the
// verdicts in algorithms/BITWISE.md (MSCCLC_UPDATE=1 writes it).
func TestBitwiseRuns(t *testing.T) {
	needDevice(t)
	var names []string
	table := map[string]*[4][]string{} // alike in all types, in f32 and f64 alone, in small types alone, in none
	for _, s := range allReduces() {
		for _, oneSided := range []bool{false, true} {
			file, _, _ := strings.Cut(s.name, " ")
			p, name := compileAllReduce(t, file, s.params, oneSided), s.name
			if oneSided {
				name += ", one-sided"
			}
			o := bitwise.OrderOf(p)
			if o.Sums != p.Coll.Chunks {
				t.Errorf("%s %s: %d sums, want %d", name, s.label, o.Sums, p.Coll.Chunks)
			}
			checkBits(t, name+" "+s.label, p, &o)
			row := table[name]
			if row == nil {
				names, row = append(names, name), new([4][]string)
				table[name] = row
			}
			at := 0
			if o.Differ[bitwise.Chain] > 0 {
				at++
			}
			if o.Differ[bitwise.Each] > 0 {
				at += 2
			}
			row[at] = append(row[at], s.label)
		}
	}
	slices.Sort(names)
	keepTable(t, names, table)
}

// needDevice skips a test where nothing can be run.
func needDevice(t *testing.T) {
	if _, err := executor.Load(irtest.RingProgram(2),
		executor.Options{Device: cpu.Device(), Unproven: true}); errors.Is(err, executor.ErrNotSupported) {
		t.Skipf("no device: %v", err)
	}
}

// checkBits runs p in the types that o judges.
func checkBits(t *testing.T, what string, p *either.Program, o *bitwise.Order) {
	t.Helper()
	l, err := executor.Load(p, executor.Options{Device: cpu.Device(), Unproven: true}) // Compile has proved it
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, x := range []struct {
		by    bitwise.Rounding
		dtype data.DType
		op    data.RedOp
	}{{bitwise.Each, data.F32, data.Sum}, {bitwise.Each, data.F64, data.Avg}, {bitwise.Chain, data.F16, data.Sum},
		{bitwise.Chain, data.BF16, data.Avg}, {bitwise.Chain, data.E5M2, data.Sum}} {
		differ := false
		for seed := int64(1); seed <= 8 && !differ; seed++ {
			differ = !sameBits(t, l, p, x.dtype, x.op, seed)
		}
		if differ != (o.Differ[x.by] > 0) {
			t.Errorf("%s, %v %v: outputs differ: %v; judged: %+v", what, x.dtype, x.op, differ, o)
		}
	}
	if !sameBits(t, l, p, data.I32, data.Sum, 1) || !sameBits(t, l, p, data.F16, data.Max, 1) {
		t.Errorf("%s: integers or maxima differ", what)
	}
}

// sameBits runs p on random data and says whether all ranks have the same
// output.
func sameBits(t *testing.T, l *executor.Loaded, p *either.Program, dt data.DType, op data.RedOp, seed int64) bool {
	t.Helper()
	rnd := rand.New(rand.NewSource(seed))
	elems := int64(p.Coll.Chunks * 64)
	args := executor.DataArgs(data.New(data.NewGeometry(p.Coll, elems, dt.Size()), dt, op, 1))
	args.Wait, args.Threads = time.Minute, 1
	for _, b := range args.Input {
		for i := range elems {
			if dt.Info().Float {
				dt.PutFloat(b, int(i), number(rnd, dt))
			} else {
				rnd.Read(b[int(i)*dt.Size():][:dt.Size()])
			}
		}
	}
	if _, err := l.Run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	outputs := args.Output
	if p.Coll.Inplace {
		outputs = args.Input
	}
	for _, b := range outputs[1:] {
		if !bytes.Equal(b, outputs[0]) {
			return false
		}
	}
	return true
}

// number is large, as large and negative, so much smaller that f16 loses it in
// the sum of the two and f32 does not, or so small that f64 does. What is left
// when the large ones cancel shows in which order they were added, and rounded.
// e4m3 spans no such range: in one step, its sums are exact.
func number(rnd *rand.Rand, dt data.DType) float64 {
	large, small := 11, -15
	if dt == data.F32 || dt == data.F64 {
		large, small = 30, -30
	}
	x := 1 - 2*rnd.Float64()
	switch rnd.Intn(4) {
	case 0:
		return math.Ldexp(1, large)
	case 1:
		return -math.Ldexp(1, large)
	case 2:
		return math.Ldexp(x, large-13)
	}
	return math.Ldexp(x, small)
}

func keepTable(t *testing.T, names []string, table map[string]*[4][]string) {
	var b strings.Builder
	b.WriteString("# Which AllReduce give every rank the same bits\n\n" +
		"What `mscclc verify --bitwise` says of each AllReduce of the catalog at several numbers of ranks (nodes x GPUs): whether all\n" +
		"ranks end with bit-identical sums, products and averages. Integers, and min and max, always do. f16, bf16 and fp8 are another\n" +
		"question than f32 and f64, since a step of several sources rounds them once. Made by TestBitwiseRuns in ir/bitwise, which runs\n" +
		"each on the CPU and compares the bits.\n\n" +
		"| program | all types alike | f32, f64 alike, small floats not | no float alike |\n|---|---|---|---|\n")
	for _, name := range names {
		row := table[name]
		if len(row[2]) > 0 {
			t.Errorf("%s: small floats agree in grouping where wide ones do not", name)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, strings.Join(row[0], " "), strings.Join(row[1], " "),
			strings.Join(row[3], " "))
	}
	const file = "../../algorithms/BITWISE.md"
	if os.Getenv("MSCCLC_UPDATE") != "" && !t.Failed() {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != b.String() {
		t.Errorf("%s is not what the compiler does now; MSCCLC_UPDATE=1 writes it\n%s", file, b.String())
	}
}

//go:build cgo

package data_test

import (
	"context"
	"fmt"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir/either"
	"mscclc/lang"
)

func catalog(t *testing.T, name string, ranks int) *either.Program {
	t.Helper()
	text, err := algorithms.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := mscclc.Compile(name, text,
		mscclc.Options{Lang: lang.Options{Params: lang.Params{"ranks": ranks}, Open: algorithms.Open}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var patterns = map[string]*data.Pattern{}

func pattern(ranks int, dt data.DType, op data.RedOp) *data.Pattern {
	key := fmt.Sprint(ranks, dt, op)
	if patterns[key] == nil {
		patterns[key] = data.NewPattern(ranks, dt, op, 5)
	}
	return patterns[key]
}

// patternRun fills and runs a program on a pattern, and counts what is wrong.
func patternRun(t *testing.T, p *either.Program, dt data.DType, op data.RedOp, elems int64,
	spoil func(out [][]byte)) (wrong, checked int64) {
	t.Helper()
	l, err := executor.Load(p, executor.Options{Device: cpu.Device()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	geo := data.NewGeometry(p.Coll, elems, dt.Size())
	d := pattern(p.Coll.Ranks, dt, op)
	size := int64(dt.Size())
	args := executor.Args{DType: dt, RedOp: op, Elems: elems}
	var outs [][]byte
	for r := range p.Coll.Ranks {
		in, out, inAt, outAt, mem := geo.Buffers(r)
		if p.Coll.Inplace {
			all := make([]byte, mem*size)
			d.Poison(all)
			d.Fill(all[inAt*size:(inAt+in)*size], r, 0)
			args.Input, outs = append(args.Input, all), append(outs, all[outAt*size:(outAt+out)*size])
			continue
		}
		input, output := make([]byte, in*size), make([]byte, out*size)
		d.Fill(input, r, 0)
		d.Poison(output)
		if !d.Poisoned(output) {
			t.Error("poison is not poisoned")
		}
		args.Input, args.Output, outs = append(args.Input, input), append(args.Output, output), append(outs, output)
	}
	if _, err := l.Run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	if spoil != nil {
		spoil(outs)
	}
	for r := range outs {
		shares, ok := geo.Shares(r)
		if !ok {
			t.Fatalf("rank %d has no shares", r)
		}
		for _, s := range shares {
			got := outs[r][s.First*size : (s.First+s.Elems)*size]
			if s.Parts != nil {
				wrong += d.CheckParts(got, s.Parts)
			} else if s.Sum {
				wrong += d.CheckSum(got, s.At)
			} else {
				wrong += d.CheckCopy(got, s.From, s.At)
			}
			checked += s.Elems
		}
	}
	return wrong, checked
}

// Data that repeats is judged as right where it is, at sizes below and above a
// period, and each spoilt element is counted.
func TestPattern(t *testing.T) {
	for _, dt := range []data.DType{data.U8, data.I32, data.BF16, data.F64, data.E4M3} {
		for _, name := range []string{"allreduce/ring", "allgather/ring", "reducescatter/ring", "alltoall/one_step",
			"broadcast/binomial", "reduce/binomial", "scan/chain"} {
			for _, elems := range []int64{1, 1000, 300_007} {
				if elems > 1000 && dt != data.BF16 && dt != data.I32 {
					continue
				}
				p := catalog(t, name, 3)
				wrong, checked := patternRun(t, p, dt, data.Sum, elems, nil)
				if wrong != 0 || checked < elems {
					t.Errorf("%s %v %d: %d of %d wrong", name, dt, elems, wrong, checked)
				}
				root := p.Coll.Root
				wrong, _ = patternRun(t, p, dt, data.Sum, elems, func(out [][]byte) {
					size := dt.Size()
					out[root][size-1] ^= 0x40
					if len(out[root]) > size {
						out[root][len(out[root])-1] ^= 0x40
					}
				})
				if wrong != 2 && !(elems == 1 && wrong == 1) {
					t.Errorf("%s %v %d: %d wrong, of 2 spoilt", name, dt, elems, wrong)
				}
			}
		}
	}
	for _, elems := range []int64{1000, 300_008} {
		if wrong, checked := patternRun(t, catalog(t, "halo/direct", 3), data.BF16, data.Sum, elems, nil); wrong != 0 ||
			checked < elems {
			t.Errorf("halo/direct: %d of %d wrong", wrong, checked)
		}
	}
	for _, op := range []data.RedOp{data.Prod, data.Min, data.Max, data.Avg} {
		if wrong, _ := patternRun(t, catalog(t, "allreduce/ring", 4), data.F16, op, 5000, nil); wrong != 0 {
			t.Errorf("%v: %d wrong", op, wrong)
		}
	}
}

func BenchmarkPattern(b *testing.B) {
	d := data.NewPattern(4, data.BF16, data.Sum, 1)
	buf := make([]byte, 64<<20)
	d.Fill(buf, 0, 0)
	d.CheckSum(buf, 0)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		d.CheckSum(buf, 0) // all bits differ
	}
}

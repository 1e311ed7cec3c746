package slots_test

import (
	"fmt"
	"testing"
	"time"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/passes/slots"
)

// catalog compiles a program of the catalog, two-sided and in protocol Simple.
func catalog(t testing.TB, name string, ranks int) *either.Program {
	t.Helper()
	text, err := algorithms.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	var opt mscclc.Options
	opt.Lang.Params, opt.Lang.Open, opt.Unproven = lang.Params{"ranks": fmt.Sprint(ranks)}, algorithms.Open, true
	opt.Lang.Protocol = new(ir.Simple)
	p, err := mscclc.Compile(name, text, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// BenchmarkEngines times programs as they are and lowered, on the CPU, call by call in turns. It reports the fastest
// call of each, in microseconds, and how many times as long as the other the lowered program takes.
func BenchmarkEngines(b *testing.B) {
	for _, name := range []string{"allreduce/ring", "allreduce/allpairs", "alltoall/one_step", "allreduce/recursive_doubling"} {
		two := catalog(b, name, 8)
		one, err := slots.Lower(two.Fifo, slots.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for bytes := int64(1 << 10); bytes <= 16<<20; bytes *= 4 {
			b.Run(fmt.Sprintf("%s/%dK", name, bytes>>10), func(b *testing.B) {
				calls := [2]func() time.Duration{caller(b, two, bytes, 0), caller(b, either.OfOneSided(one), bytes, 1)}
				best := [2]time.Duration{1 << 62, 1 << 62}
				for b.Loop() {
					for k, call := range calls {
						best[k] = min(best[k], call())
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(best[0].Nanoseconds())/1e3, "us-two")
				b.ReportMetric(float64(best[1].Nanoseconds())/1e3, "us-lowered")
				b.ReportMetric(float64(best[1])/float64(best[0]), "ratio")
			})
		}
	}
}

// caller returns a function that does a call of a number of bytes, and returns how long it took.
func caller(b *testing.B, p *either.Program, bytes int64, replicas int) func() time.Duration {
	l, err := executor.Load(p, executor.Options{Device: cpu.Device(), Unproven: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	elems := bytes / 4 * int64(p.Coll.Chunks) / int64(p.Coll.Divisor())
	buffers := data.New(data.NewGeometry(p.Coll, elems-elems%int64(p.Coll.Chunks), 4), data.F32, data.Sum, 1)
	args := executor.DataArgs(buffers)
	args.Replicas = replicas
	return func() time.Duration {
		r, err := l.Run(b.Context(), args)
		if err != nil {
			b.Fatal(err)
		}
		return r.Elapsed
	}
}

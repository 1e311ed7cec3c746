package gputest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/lang"
)

// Bench moves data between two ranks, on one GPU or between two.
func Bench(b *testing.B, d Device) {
	d.need(b)
	runtime.LockOSThread()
	for _, name := range []string{"allreduce/ring", "allreduce/allpairs", "allgather/allpairs"} {
		for proto := range ir.NumProtocols {
			for _, bytes := range []int64{1 << 10, 1 << 16, 1 << 20, 1 << 28} {
				for _, instances := range []int{1, 16} {
					b.Run(fmt.Sprintf("%s/x%d/%v/%d", name, instances, proto, bytes),
						func(b *testing.B) { bandwidth(b, d, name, proto, bytes, instances) })
				}
			}
		}
	}
}

// BenchLaunch reports what a launch costs the host, in bursts that a queue holds, and
// how long one takes in a graph, of plans of both kinds.
func BenchLaunch(b *testing.B, d Device) {
	d.need(b)
	runtime.LockOSThread()
	for _, s := range both(ranked("allreduce/allpairs_onestep", 2, ir.LL, false)) {
		b.Run(s.String(), func(b *testing.B) { benchLaunch(b, d, s) })
	}
}

func benchLaunch(b *testing.B, d Device, s shape) {
	r := mustRig(b, d, mustProgram(b, s), plan.Options{GPUs: d.Open(numbers()...)})
	j := r.mustBind(b, 256, nil)
	if err := errors.Join(j.fill(), j.launch(), r.plan.Wait(b.Context())); err != nil {
		b.Fatal(err)
	}
	const burst = 50
	best := time.Hour
	for range 100 {
		begin := time.Now()
		for range burst {
			if err := j.launch(); err != nil {
				b.Fatal(err)
			}
		}
		best = min(best, time.Since(begin))
		if err := r.plan.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(best.Nanoseconds())/1000/burst/float64(len(r.streams)), "us/launch")
	graphs := j.captured(b, 100)
	took := time.Hour
	for range 20 {
		begin := time.Now()
		if err := errors.Join(j.replay(graphs), r.plan.Wait(b.Context())); err != nil {
			b.Fatal(err)
		}
		took = min(took, time.Since(begin))
	}
	b.ReportMetric(float64(took.Nanoseconds())/1000/100, "us/in-graph")
	b.ReportMetric(0, "ns/op")
}

// bandwidth reports the fastest run's time and bytes a second of a rank, as
// nccl-tests counts them (algbw).
func bandwidth(b *testing.B, d Device, name string, proto ir.Protocol, bytes int64, instances int) {
	inplace := true
	opt := mscclc.Options{Lang: lang.Options{Params: lang.Params{"ranks": 2}, Inplace: &inplace, Protocol: &proto,
		Open: algorithms.Open}}
	opt.Passes.Instances = instances
	p, err := mscclc.Compile(name, source(b, name), opt)
	if err != nil {
		b.Fatal(err)
	}
	l := d.load(b, p)
	elems := data.PieceElems(p.Coll, bytes, data.F32)
	buffers := data.New(data.NewGeometry(p.Coll, elems, 4), data.F32, data.Sum, 1)
	best := time.Duration(1 << 62)
	for range max(b.N, 5) {
		args := executor.DataArgs(buffers)
		args.Wait = 10 * time.Second
		r, err := l.Run(context.Background(), args)
		if err != nil {
			b.Fatal(err)
		}
		best = min(best, r.Elapsed)
	}
	b.ReportMetric(float64(best.Nanoseconds())/1000, "us")
	b.ReportMetric(float64(bytes)/float64(best.Nanoseconds()), "GB/s")
	b.ReportMetric(0, "ns/op")
}

func source(b *testing.B, name string) []byte {
	text, err := algorithms.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	return text
}

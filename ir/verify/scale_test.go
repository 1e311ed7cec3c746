//go:build unix

package verify_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"mscclc/codegen"
	"mscclc/codegen/msccl"
	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

// The shapes are good, or their times would say nothing.
func TestScaleShapes(t *testing.T) {
	for _, x := range scaleShapes {
		for _, n := range []int{100, 1000, 10000} {
			p := x.make(n)
			if _, list := verify.Check(p, verify.Options{}); len(list) > 0 {
				t.Errorf("%s of %d steps: %s", x.name, len(p.Steps), irtest.Text(list[:1]))
			}
			t.Logf("%s: %d ranks, %d blocks, %d steps", x.name, p.Coll.Ranks, len(p.Blocks), len(p.Steps))
		}
	}
}

// BenchmarkScale proves programs of 2^10 to 2^21 steps: CPU time and memory a
// step should stay flat, but for caches that they no longer fit.
func BenchmarkScale(b *testing.B) {
	for _, x := range scaleShapes {
		for bits := 10; bits <= x.most; bits++ {
			b.Run(fmt.Sprintf("%s/2^%d", x.name, bits), func(b *testing.B) {
				p := x.make(1 << bits)
				b.ReportAllocs()
				begin := irtest.CPUTime()
				for b.Loop() {
					if _, list := verify.Check(p, verify.Options{}); len(list) > 0 {
						b.Fatal(list)
					}
				}
				b.ReportMetric(float64((irtest.CPUTime()-begin).Nanoseconds())/float64(b.N*len(p.Steps)), "cpu-ns/step")
			})
		}
	}
}

// BenchmarkXML reads and proves XML of a million steps, where a shape has them.
func BenchmarkXML(b *testing.B) {
	target, err := codegen.TargetByName("msccl")
	if err != nil {
		b.Fatal(err)
	}
	large := *target
	large.Limits = ir.Limits{Target: "large", ReceiveFused: true}
	for _, x := range scaleShapes {
		b.Run(x.name, func(b *testing.B) {
			p := x.make(1 << min(20, x.most))
			var text bytes.Buffer
			if err := msccl.Write(&text, p, &large); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(text.Len()))
			reading, begin := time.Duration(0), irtest.CPUTime()
			for b.Loop() {
				start := irtest.CPUTime()
				p, err := msccl.Read("scale.xml", bytes.NewReader(text.Bytes()), codegen.ReadOptions{})
				if err != nil {
					b.Fatal(err)
				}
				reading += irtest.CPUTime() - start
				if _, list := verify.Check(either.OfFifo(p), verify.Options{}); len(list) > 0 {
					b.Fatal(list)
				}
			}
			b.ReportMetric(float64(len(p.Steps)), "steps")
			b.ReportMetric(reading.Seconds()/float64(b.N), "cpu-s-reading/op")
			b.ReportMetric((irtest.CPUTime()-begin).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// BenchmarkOrder reports whether a ring of 1,024 ranks gives all the same bits.
func BenchmarkOrder(b *testing.B) {
	p := irtest.RingProgram(1024)
	b.ReportAllocs()
	for b.Loop() {
		if o := bitwise.OrderOf(p); !o.Same() {
			b.Fatal(o)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(p.Steps)), "ns/step")
}

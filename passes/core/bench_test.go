package core

import (
	"fmt"
	"path"
	"testing"

	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/passes/fifo"
)

// BenchmarkOneSided lowers programs of the catalog one-sided, and two-sided beside
// them, at growing numbers of ranks. The time of an operation should stay flat.
func BenchmarkOneSided(b *testing.B) {
	for _, name := range []string{"allreduce/ring", "allreduce/allpairs", "allreduce/onephase", "allgather/ring"} {
		for _, ranks := range []int{64, 256, 1024} {
			if name == "allreduce/onephase" && ranks > 256 {
				continue // it is for one node
			}
			for _, protocol := range []ir.Protocol{ir.Simple, ir.LL} {
				b.Run(fmt.Sprintf("%s-%s/%d/%v", path.Dir(name), path.Base(name), ranks, protocol), func(b *testing.B) {
					c := expandCatalog(b, name, ranks, protocol)
					for _, sides := range []string{"one", "two"} {
						b.Run(sides, func(b *testing.B) { lowerTimes(b, c, sides) })
					}
				})
			}
		}
	}
}

func expandCatalog(b *testing.B, name string, ranks int, protocol ir.Protocol) *ir.ChunkDAG {
	src, err := algorithms.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	f, err := syntax.Parse(name, src)
	if err != nil {
		b.Fatal(err)
	}
	c, err := lang.Expand(f, lang.Options{Params: lang.Params{"ranks": ranks}, Protocol: &protocol, Open: algorithms.Open})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func lowerTimes(b *testing.B, c *ir.ChunkDAG, sides string) {
	b.ReportAllocs()
	before := irtest.CPUTime()
	for b.Loop() {
		if sides == "two" {
			d, err := fifo.Lower(c, fifo.Options{})
			if err != nil {
				b.Fatal(err)
			}
			if err := fifo.Run(d, fifo.Options{}); err != nil {
				b.Fatal(err)
			}
		} else if _, err := Lower(c, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	each := float64(b.N) * float64(len(c.Ops))
	b.ReportMetric(float64((irtest.CPUTime()-before).Nanoseconds())/each, "cpu-ns/op")
}

package bundle

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/selection"
)

// timedSizes returns what a search found of a given number of sizes: at each, some programs in few widths, of times
// near each other.
func timedSizes(seed uint64, sizes int) (list []TimedSize) {
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range sizes {
		s := TimedSize{Bytes: 1 << (10 + 18*i/sizes), NCCL: [2]float64{11 + 9*random.Float64(), 25}}
		for program := range 6 {
			for _, replicas := range []int{1, 2, 4, 8, 16, 32}[random.IntN(3):][:1+random.IntN(3)] {
				for _, tile := range []int64{1 << 14, 1 << 16}[random.IntN(2):] {
					f := Timed{Choice: selection.Choice{Program: fmt.Sprint("allreduce/", program),
						Protocol: ir.Simple, Width: launch.Width{Replicas: replicas, Threads: 256, Tile: tile}},
						Share: min(tile, s.Bytes), Micros: [2]float64{10 + 2*random.Float64(),
							12 + 2*random.Float64()}}
					f.Room = int64(f.Replicas) * f.Share * int64(2+program)
					s.Forms = append(s.Forms, f)
				}
			}
		}
		list = append(list, s)
	}
	return list
}

// BenchmarkMerge measures rules for several rooms, as tune computes them.
func BenchmarkMerge(b *testing.B) {
	sizes := timedSizes(1, 14)
	for b.Loop() {
		for _, room := range []int64{128 << 10, 512 << 10, 2 << 20, 8 << 20, 32 << 20} {
			Merge("allreduce", 8, sizes, room)
		}
	}
}

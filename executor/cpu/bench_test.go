//go:build cgo

package cpu

import (
	"context"
	"fmt"
	"testing"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
)

// BenchmarkAllReduce runs rings and all-pairs of 8 ranks; bytes are those of
// one rank's buffer.
func BenchmarkAllReduce(b *testing.B) {
	for _, p := range []*either.Program{ringAllReduce(8, true), allPairs(8, 1, true)} {
		for proto := range ir.NumProtocols {
			for _, bytes := range []int64{1 << 10, 64 << 10, 16 << 20} {
				b.Run(fmt.Sprintf("%s/%s/%d", p.Name, proto, bytes), func(b *testing.B) { bench(b, p, proto, data.F32, bytes) })
			}
		}
	}
	for dt := range data.NumDTypes {
		p := allPairs(8, 1, true)
		b.Run(fmt.Sprintf("types/%s", dt), func(b *testing.B) { bench(b, p, ir.Simple, dt, 4<<20) })
	}
}

func bench(b *testing.B, p *either.Program, proto ir.Protocol, dt data.DType, bytes int64) {
	l := load(b, p)
	args := executor.Args{DType: dt, RedOp: data.Max, Elems: bytes / int64(dt.Size()), Protocol: &proto}
	for range p.Coll.Ranks {
		args.Input = append(args.Input, make([]byte, bytes))
	}
	b.SetBytes(bytes)
	for b.Loop() {
		if _, err := l.Run(context.Background(), args); err != nil {
			b.Fatal(err)
		}
	}
}

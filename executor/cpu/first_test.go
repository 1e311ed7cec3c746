//go:build cgo

package cpu

import (
	"context"
	"encoding/binary"
	"testing"

	"mscclc/executor"
)

func TestFirst(t *testing.T) {
	l, err := executor.Load(ringAllReduce(4, true), executor.Options{Device: Device()})
	if err != nil {
		t.Fatal(err)
	}
	for iter := range 3 {
		in := make([][]byte, 4)
		for r := range in {
			in[r] = make([]byte, 4*1000003)
			for i := range 1000003 {
				binary.LittleEndian.PutUint32(in[r][4*i:], uint32(i+r))
			}
		}
		res, err := l.Run(context.Background(), executor.Args{Input: in, DType: executor.I32, RedOp: executor.Sum, Elems: 1000003})
		t.Log(iter, res, err)
		if err != nil {
			t.Fatal(err)
		}
		for r := range in {
			for i := range 1000003 {
				if got := binary.LittleEndian.Uint32(in[r][4*i:]); got != uint32(4*i+6) {
					t.Fatal(r, i, got)
				}
			}
		}
	}
}

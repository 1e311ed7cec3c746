// Package nccl is NVIDIA's library of collectives, to measure ours beside it. It
// is opened at run time, where it is: nccl.c declares what it uses, and neither
// its headers nor CUDA's are needed. Nothing here touches the library's
// environment: what NCCL_ variables say holds.
//
// A Comm is used by one thread at a time, which has its GPU's context current;
// communicators of one process that talk to each other need a thread each.
package nccl

import (
	"fmt"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
)

// A Call is one collective of one rank, on addresses of its GPU. Count is the
// elements of a piece: the smaller of the rank's two buffers, where they differ.
type Call struct {
	Kind       ir.Kind
	Send, Recv uint64
	Count      int64
	DType      data.DType
	RedOp      data.RedOp
	Root       int
	To, From   int    // SendRecv: the peers; -1 for none
	Stream     uint64 // the driver's handle
}

// types and redops are NCCL's numbers for ours.
var (
	types = [data.NumDTypes]int{data.I8: 0, data.U8: 1, data.I32: 2, data.U32: 3, data.I64: 4, data.U64: 5,
		data.F16: 6, data.F32: 7, data.F64: 8, data.BF16: 9, data.E4M3: 10, data.E5M2: 11}
	redops = [data.NumRedOps]int{data.Sum: 0, data.Prod: 1, data.Max: 2, data.Min: 3, data.Avg: 4}
)

// Supports says why NCCL has no such collective, or nil.
func Supports(kind ir.Kind) error {
	switch kind {
	case ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.AllToAll, ir.Broadcast, ir.ReduceTo, ir.Gather, ir.Scatter,
		ir.SendRecv:
		return nil
	}
	return fmt.Errorf("NCCL is not measured with %v: %w", kind, executor.ErrNotSupported)
}

// VersionText returns a version as NCCL numbers it: 22809 is 2.28.9.
func VersionText(v int) string {
	if v < 10000 {
		return fmt.Sprintf("%d.%d.%d", v/1000, v%1000/100, v%100)
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v%10000/100, v%100)
}

// Package nccl opens NVIDIA's NCCL, to compare mscclc with it. It opens the library at run time. nccl.c declares the
// functions that it uses, so that neither NCCL's headers nor CUDA's are needed. The package does not change the
// environment: NCCL_ variables have their usual effect.
//
// One thread at a time uses a Comm, and the context of the Comm's GPU must be current in this thread. If a process has
// several ranks of one communicator, the Comm of each rank needs a thread of its own.
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

package executor

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"mscclc/executor/data"
	"mscclc/ir"
)

// Args are one call. In place, Input holds each rank's one memory and Output is
// nil. Zero fields below Elems mean the usual.
type Args struct {
	Input, Output [][]byte // by rank; lengths as Geometry.Buffers gives them, in bytes
	DType         data.DType
	RedOp         data.RedOp
	Elems         int64    // of a piece
	Rows          *RowArgs // of a program with an epilogue, of which Elems counts rows; else nil

	Protocol  *ir.Protocol  // the program's
	Slots     int           // messages that a connection holds: Protocol.Slots
	SlotBytes int64         // that a message holds: Protocol.SlotBytes
	TileBytes int64         // of a chunk that one pass over the steps moves: DefaultTileBytes
	Wait      time.Duration // that one wait may last: DefaultWait
	Replicas  int           // of a one-sided program: DefaultReplicas
	Threads   int           // of the host, for all blocks: GOMAXPROCS
	PerBlock  int           // threads of each block: on the CPU none of its own, on a GPU as many as fit
	Watch     *Watch        // sees and steers the launch, which is then of one thread
	Trace     *Trace        // records when steps began and ended
}

// DataArgs returns the Args of a call on b's buffers, with b's element type, reduction and size. All else is left open.
func DataArgs(b *data.Buffers) Args {
	input, output := b.Memory()
	return Args{Input: input, Output: output, DType: b.DType, RedOp: b.RedOp, Elems: b.Geo.Elems}
}

// ArgsOf returns the Args of a call of c that sums numbers. Input and output are indexed by rank; in place, input has
// each rank's one memory and output is nil. Run reads and writes these slices, which stay the caller's, and checks
// their number and lengths.
func ArgsOf[T data.Number](c *ir.Collective, input, output [][]T) Args {
	a := Args{DType: data.DTypeOf[T](), RedOp: data.Sum, Input: rawOf(input), Output: rawOf(output)}
	unit, most := data.NewGeometry(c, int64(max(c.Chunks, 1)), 1), int64(0) // chunks of one element
	piece := func(chunks int64, ranks [][]T, rank int) {
		if chunks > most && rank < len(ranks) {
			most, a.Elems = chunks, int64(len(ranks[rank]))*unit.Elems/chunks
		}
	}
	for rank := range c.Ranks {
		in, out, _, _, mem := unit.Buffers(rank)
		piece(max(in, mem), input, rank)
		piece(out, output, rank)
	}
	return a
}

// rawOf returns the numbers of each rank as bytes; nil stays nil.
func rawOf[T data.Number](ranks [][]T) (list [][]byte) {
	for _, numbers := range ranks {
		bytes := uintptr(len(numbers)) * unsafe.Sizeof(*new(T))
		list = append(list, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), bytes))
	}
	return list
}

// memory checks the buffers of a call. outSize is the bytes of an element of the output.
func memory(geo data.Geometry, args *Args, outSize int) ([]Memory, error) {
	c, size := geo.Coll, args.DType.Size()
	length := int64(1)
	if args.Rows != nil {
		length = int64(args.Rows.Length)
	}
	if len(args.Input) != c.Ranks || len(args.Output) != c.Ranks && !(c.Inplace && args.Output == nil) {
		return nil, fmt.Errorf("buffers are of %d and %d ranks, of %d", len(args.Input), len(args.Output), c.Ranks)
	}
	check := func(what string, rank int, buf []byte, elems int64, size int) error {
		if want := elems * length * int64(size); int64(len(buf)) != want {
			return fmt.Errorf("%s of rank %d has %d bytes, of %d", what, rank, len(buf), want)
		}
		if uintptr(unsafe.Pointer(unsafe.SliceData(buf)))%uintptr(size) != 0 && len(buf) > 0 {
			return fmt.Errorf("%s of rank %d is not aligned to its elements", what, rank)
		}
		return nil
	}
	mem := make([]Memory, c.Ranks)
	for r := range mem {
		in, out, inAt, outAt, all := geo.Buffers(r)
		mem[r] = Memory{Input: args.Input[r], InAt: inAt * int64(size), OutAt: outAt * int64(size)}
		if c.Inplace {
			if err := check("memory", r, args.Input[r], all, size); err != nil {
				return nil, err
			}
			continue
		}
		mem[r].Output = args.Output[r]
		if err := errors.Join(check("input", r, args.Input[r], in, size),
			check("output", r, args.Output[r], out, outSize)); err != nil {
			return nil, err
		}
	}
	return mem, nil
}

package executor

import "mscclc/ir"

// A Geometry says where the elements of a call lie. A piece has Elems elements,
// in Coll.Chunks chunks of Chunk elements, of which the last may be shorter or
// empty. Input and output are dense; scratch has room for Chunk elements in
// each of its slots. All counts are of elements.
type Geometry struct {
	Coll  *ir.Collective
	Elems int64
	Chunk int64
}

// roundedFrom is the size in bytes from which chunks that do not divide their
// piece are made a multiple of 16 bytes; for smaller ones that would leave too
// many of them empty.
const roundedFrom = 1024

// NewGeometry lays out pieces of elems elements of the given size.
func NewGeometry(c *ir.Collective, elems int64, size int) Geometry {
	n := int64(max(c.Chunks, 1))
	chunk := elems / n
	if elems%n != 0 {
		chunk++
		if per := int64(max(16/size, 1)); chunk*int64(size) >= roundedFrom {
			chunk = (chunk + per - 1) / per * per
		}
	}
	return Geometry{Coll: c, Elems: elems, Chunk: chunk}
}

// Length is the elements of a chunk of the given class.
func (g Geometry) Length(class int) int64 {
	return min(g.Chunk, max(0, g.Elems-int64(class)*g.Chunk))
}

// Offset is where chunk index of an input or an output begins; the offset of
// the chunk after the last is the buffer's length.
func (g Geometry) Offset(index int) int64 {
	n := max(g.Coll.Chunks, 1)
	return int64(index/n)*g.Elems + min(int64(index%n)*g.Chunk, g.Elems)
}

// Buffers gives the lengths of rank's input and output. In place both are one
// memory, of which they begin at inAt and outAt, and mem is its length; else mem
// is 0.
func (g Geometry) Buffers(rank int) (in, out, inAt, outAt, mem int64) {
	c := g.Coll
	in, out = g.Offset(c.InChunks(rank)), g.Offset(c.OutChunks(rank))
	if !c.Inplace {
		return in, out, 0, 0, 0
	}
	if inOut, outIn := c.Shift(rank); inOut >= 0 {
		inAt = g.Offset(inOut)
	} else {
		outAt = g.Offset(outIn)
	}
	return in, out, inAt, outAt, max(inAt+in, outAt+out)
}

// PieceElems is how many elements a piece of a call of so many bytes has, as
// nccl-tests counts bytes: of the larger of a rank's input and output.
func PieceElems(c *ir.Collective, bytes int64, t DType) int64 {
	return bytes / int64(t.Size()) / int64(max(c.Divisor()/max(c.Chunks, 1), 1))
}

// A Number is a Go type that elements of a call may have. The other element types have no Go type of their own.
type Number interface {
	float32 | float64 | int8 | uint8 | int32 | uint32 | int64 | uint64
}

// DTypeOf returns the element type whose values are Ts.
func DTypeOf[T Number]() DType {
	switch any(*new(T)).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case int8:
		return I8
	case uint8:
		return U8
	case int32:
		return I32
	case uint32:
		return U32
	case int64:
		return I64
	}
	return U64
}

// ArgsOf returns the Args of a call of c that sums numbers. Input and output are indexed by rank; in place, input has
// each rank's one memory and output is nil. Run reads and writes these slices, which stay the caller's, and checks
// their number and lengths.
func ArgsOf[T Number](c *ir.Collective, input, output [][]T) Args {
	a := Args{DType: DTypeOf[T](), RedOp: Sum, Input: rawOf(input), Output: rawOf(output)}
	unit, most := NewGeometry(c, int64(max(c.Chunks, 1)), 1), int64(0) // chunks of one element
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

// rawOf is raw for the numbers of each rank; nil stays nil.
func rawOf[T Number](ranks [][]T) (list [][]byte) {
	for _, numbers := range ranks {
		list = append(list, raw(numbers))
	}
	return list
}

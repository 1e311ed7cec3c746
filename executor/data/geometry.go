package data

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

// Length returns the elements of a chunk of the given class.
func (g Geometry) Length(class int) int64 {
	return min(g.Chunk, max(0, g.Elems-int64(class)*g.Chunk))
}

// Offset returns where chunk index of an input or an output begins; the offset of
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

// PieceElems returns how many elements a piece of a call of `bytes` bytes has, as
// nccl-tests counts bytes: of the larger of a rank's input and output.
func PieceElems(c *ir.Collective, bytes int64, t DType) int64 {
	return bytes / int64(t.Size()) / pieces(c)
}

// CallBytes returns how many bytes a call has whose pieces have a number of elements: it inverts PieceElems.
func CallBytes(c *ir.Collective, elems int64, t DType) int64 {
	return elems * int64(t.Size()) * pieces(c)
}

// pieces returns the pieces of the larger of a rank's input and output.
func pieces(c *ir.Collective) int64 { return int64(max(c.Divisor()/max(c.Chunks, 1), 1)) }

package abi

import (
	"cmp"
	"fmt"
	"math/bits"

	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// A OneLayout says where the parts of a rank's scratch, packets and flags lie. It is the same on all ranks and in all
// launches. All fields are bytes, except Flags.
type OneLayout struct {
	ScratchStride, ScratchCopy uint64 // from chunk to chunk, and from copy to copy
	PacketStride, PacketCopy   uint64
	Flags                      uint64 // how many a replica has
	Scratch, Packets, FlagMem  uint64 // all memory of a rank
}

// Layout returns the layout of a rank's memory for o.Replicas replicas and passes of o.Tile bytes. It fails if the
// memory is too large to be addressed.
func (o *OneImage) Layout() (OneLayout, error) {
	stride := (uint64(o.Tile) + limits.ChunkAlign - 1) &^ (limits.ChunkAlign - 1)
	l := OneLayout{ScratchStride: stride, PacketStride: 2 * stride, Flags: uint64(o.Flags) + uint64(len(o.Blocks))}
	copies, over := uint64(o.Replicas)*uint64(o.Depth), false
	size := func(factors ...uint64) uint64 {
		n := uint64(1)
		for _, f := range factors {
			high, low := bits.Mul64(n, f)
			n, over = low, over || high != 0 || low > limits.Address
		}
		return n
	}
	l.ScratchCopy, l.PacketCopy = size(uint64(o.Scratch), stride), size(uint64(o.Packets), 2*stride)
	l.Scratch, l.Packets, l.FlagMem = size(copies, l.ScratchCopy), size(copies, l.PacketCopy),
		size(uint64(o.Replicas), l.Flags, 8)
	if over {
		return l, fmt.Errorf("%d replicas of %d and %d chunks of %d bytes are out of range", o.Replicas, o.Scratch,
			o.Packets, o.Tile)
	}
	return l, nil
}

// Reserve sets what memory is made for, o.Replicas and o.Tile: at most `replicas` replicas, and at most `tile` bytes of
// a chunk in a pass, rounded up to 16. It fails if one of the two is out of range. Layout, Enough and Params need it.
func (o *OneImage) Reserve(replicas int, tile int64) error {
	if replicas < 1 || replicas > limits.Replicas || tile < limits.TileAlign || tile > limits.Tile {
		return fmt.Errorf("%d replicas, or tile iterations of %d bytes, are out of range", replicas, tile)
	}
	o.Replicas, o.Tile = replicas, (tile+15)&^15
	return nil
}

// UsualTile returns the bytes of a chunk that a pass moves unless the caller asks for others: all of a chunk where a
// port copies, since its copies should be few and long, or where launches have one pass, if that takes no memory. Where
// steps write many chunks of another rank's scratch, it returns so few that these take no more than a message of a
// two-sided program. In all other cases it returns `other`.
func (o *OneImage) UsualTile(other int64) int64 {
	if (o.Port || o.OnePass) && o.Scratch == 0 && o.Packets == 0 {
		return limits.Tile
	}
	if o.Message > 0 && !o.OnePass {
		return min(other, max(ir.Simple.SlotBytes()/int64(o.Message)&^(limits.ChunkAlign-1), limits.ChunkAlign))
	}
	return other
}

// Enough returns how many replicas a launch with chunks of `chunk` bytes has: `replicas`, or more where launches have
// one pass and a chunk needs them, up to those that there is memory for.
func (o *OneImage) Enough(replicas int, chunk int64) int {
	if !o.OnePass || o.Tile < limits.ChunkAlign {
		return replicas
	}
	tile := o.Tile &^ (limits.ChunkAlign - 1) // shares are multiples of that
	return int(max(int64(replicas), min(int64(o.Replicas), (chunk+tile-1)/tile)))
}

// Params returns the numbers of a call with `replicas` replicas, whose passes move `tile` bytes of each chunk or fewer.
// Passes is 0 where there is nothing to launch. It fails if there is no memory for that (Reserve). The addresses are
// the device's to fill in.
func (o *OneImage) Params(geo data.Geometry, t data.DType, op data.RedOp, replicas int, tile int64) (OneParams, error) {
	return o.params(geo, t, op, replicas, tile, 0)
}

// ShareOf returns the bytes of a chunk of a given size that each of some replicas has. A large share is whole lines of
// memory: stores over NVLink that straddle them cost 3 to 7 %.
func ShareOf(chunk, replicas uint64) uint64 {
	share, align := max(16, (chunk+replicas-1)/replicas), uint64(16)
	if share >= 4096 {
		align = limits.ChunkAlign
	}
	return (share + align - 1) &^ (align - 1)
}

// params is Params, or RowParams with rows of `row` bytes where that is not 0.
func (o *OneImage) params(geo data.Geometry, t data.DType, op data.RedOp, replicas int, tile int64,
	row uint64) (OneParams, error) {
	layout, err := o.Layout()
	if err != nil {
		return OneParams{}, err
	}
	if replicas < 1 || replicas > o.Replicas || tile < 1 {
		return OneParams{}, fmt.Errorf("%d replicas of %d, or tile iterations of %d bytes, are out of range", replicas,
			o.Replicas, tile)
	}
	elem := cmp.Or(row, uint64(t.Size()))
	chunk := uint64(geo.Chunk) * elem
	p := OneParams{
		Elems: uint64(geo.Elems), Chunk: uint64(geo.Chunk),
		ScratchStride: layout.ScratchStride, ScratchCopy: layout.ScratchCopy, PacketStride: layout.PacketStride,
		PacketCopy: layout.PacketCopy,
		Chunks:     uint32(geo.Coll.Chunks), Replicas: uint32(replicas), MaxReplicas: uint32(o.Replicas),
		Depth: uint32(o.Depth),
		Flags: uint32(layout.Flags), AllBlocks: uint32(len(o.Blocks)), RankCount: uint32(geo.Coll.Ranks),
		DType: uint32(t), RedOp: uint32(op), ElemSize: uint32(elem),
		Inverse: 1 / float64(geo.Coll.Ranks),
	}
	if row > 0 {
		rows, some := launch.RowsOf(uint64(geo.Chunk), uint64(replicas))
		p.Share, p.Replicas = rows*row, uint32(some)
		p.Tile = min(max(uint64(tile)/row, 1)*row, uint64(o.Tile)/row*row, p.Share)
	} else {
		p.Share = ShareOf(chunk, uint64(replicas))
		p.Tile = min((uint64(tile)+15)&^15, uint64(o.Tile), p.Share)
	}
	if o.OnePass && p.Share > uint64(o.Tile) {
		return OneParams{}, diag.List{diag.New(diag.Limit, diag.Span{},
			"chunks of %d bytes are more than the program, whose launches have one tile iteration, is loaded for: %d replicas of %d bytes", chunk, replicas, o.Tile).WithHint("fewer bytes, or memory for longer tiles")}
	} else if o.OnePass {
		p.Tile = p.Share
	}
	p.Passes = (min(p.Share, chunk) + p.Tile - 1) / p.Tile
	return p, nil
}

// Address returns where chunk index of buf begins in a pass, in the first replica. buf is input, output or scratch of
// the rank whose memory is m.
func (p *OneParams) Address(m *OneMemory, buf ir.Buf, index, pass int) uint64 {
	if buf == ir.Scratch {
		return m.Scratch + uint64(pass)%uint64(p.Depth)*p.ScratchCopy + uint64(index)*p.ScratchStride
	}
	base, chunks := m.Input, uint64(p.Chunks)
	if buf == ir.Output {
		base = m.Output
	}
	piece, k := uint64(index)/chunks, uint64(index)%chunks
	return base + (piece*p.Elems+min(k*p.Chunk, p.Elems))*uint64(p.ElemSize) + uint64(pass)*p.Tile
}

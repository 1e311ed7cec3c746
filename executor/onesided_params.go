package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"mscclc/executor/data"
	"mscclc/ir/diag"
)

// A OneLayout says where the parts of a rank's scratch, packets and flags lie, the same
// on all ranks and in all launches. Counts are of bytes, but for Flags.
type OneLayout struct {
	ScratchStride, ScratchCopy uint64 // from chunk to chunk, and from copy to copy
	PacketStride, PacketCopy   uint64
	Flags                      uint64 // of a column
	Scratch, Packets, FlagMem  uint64 // all of a rank's
}

// oneAlign keeps chunks on cache lines of their own.
const oneAlign = 128

// Layout lays out the memory of a rank, for o.Columns columns and passes of o.Tile
// bytes.
func (o *OneImage) Layout() (OneLayout, error) {
	stride := (uint64(o.Tile) + oneAlign - 1) &^ (oneAlign - 1)
	l := OneLayout{ScratchStride: stride, PacketStride: 2 * stride, Flags: uint64(o.Flags) + uint64(len(o.Blocks))}
	copies, over := uint64(o.Columns)*uint64(o.Depth), false
	size := func(factors ...uint64) uint64 {
		n := uint64(1)
		for _, f := range factors {
			high, low := bits.Mul64(n, f)
			n, over = low, over || high != 0 || low > 1<<48
		}
		return n
	}
	l.ScratchCopy, l.PacketCopy = size(uint64(o.Scratch), stride), size(uint64(o.Packets), 2*stride)
	l.Scratch, l.Packets, l.FlagMem = size(copies, l.ScratchCopy), size(copies, l.PacketCopy), size(uint64(o.Columns), l.Flags, 8)
	if over {
		return l, fmt.Errorf("%d columns of %d and %d chunks of %d bytes are out of range", o.Columns, o.Scratch, o.Packets, o.Tile)
	}
	return l, nil
}

// room sets what memory is made for.
func (o *OneImage) room(columns int, tile int64) error {
	if columns < 1 || columns > maxOneColumns || tile < 16 || tile > maxOneTile {
		return fmt.Errorf("%d columns, or passes of %d bytes, are out of range", columns, tile)
	}
	o.Columns, o.Tile = columns, (tile+15)&^15
	return nil
}

// usualTile is what a pass has of a chunk if nothing is asked: all of it where a port copies, which is to make
// few and long copies, or where there is but one pass, if that takes no memory.
func (o *OneImage) usualTile(other int64) int64 {
	if (o.Port || o.OnePass) && o.Scratch == 0 && o.Packets == 0 {
		return maxOneTile
	}
	return other
}

// enough is how many columns a launch of chunks of so many bytes has at least where it is of one pass, of those that
// there is memory for.
func (o *OneImage) enough(columns int, chunk int64) int {
	if !o.OnePass || o.Tile < oneAlign {
		return columns
	}
	tile := o.Tile &^ (oneAlign - 1) // shares are multiples of that
	return int(max(int64(columns), min(int64(o.Columns), (chunk+tile-1)/tile)))
}

// Params are the numbers of a call with so many columns, whose passes move `tile` bytes of each
// chunk or fewer. Passes is 0 where there is nothing to launch.
func (o *OneImage) Params(geo data.Geometry, t data.DType, op data.RedOp, columns int, tile int64) (OneParams, error) {
	layout, err := o.Layout()
	if err != nil {
		return OneParams{}, err
	}
	if columns < 1 || columns > o.Columns || tile < 1 {
		return OneParams{}, fmt.Errorf("%d columns of %d, or passes of %d bytes, are out of range", columns, o.Columns, tile)
	}
	chunk := uint64(geo.Chunk) * uint64(t.Size())
	p := OneParams{
		Elems: uint64(geo.Elems), Chunk: uint64(geo.Chunk),
		ScratchStride: layout.ScratchStride, ScratchCopy: layout.ScratchCopy, PacketStride: layout.PacketStride, PacketCopy: layout.PacketCopy,
		Chunks: uint32(geo.Coll.Chunks), Columns: uint32(columns), MaxColumns: uint32(o.Columns), Depth: uint32(o.Depth),
		Flags: uint32(layout.Flags), AllBlocks: uint32(len(o.Blocks)), RankCount: uint32(geo.Coll.Ranks),
		DType: uint32(t), RedOp: uint32(op), ElemSize: uint32(t.Size()),
	}
	// A large share is whole lines of memory: stores over NVLink that straddle them cost 3 to 7 %.
	p.Share = max(16, (chunk+uint64(columns)-1)/uint64(columns))
	align := uint64(16)
	if p.Share >= 4096 {
		align = oneAlign
	}
	p.Share = (p.Share + align - 1) &^ (align - 1)
	p.Tile = min((uint64(tile)+15)&^15, uint64(o.Tile), p.Share)
	if o.OnePass && p.Share > uint64(o.Tile) {
		return OneParams{}, diag.List{diag.New(diag.Limit, diag.Span{}, "chunks of %d bytes are more than the program, whose launches have one pass, is loaded for: %d columns of %d bytes",
			chunk, columns, o.Tile).WithHint("fewer bytes, or memory for longer tiles")}
	} else if o.OnePass {
		p.Tile = p.Share
	}
	p.Passes = (min(p.Share, chunk) + p.Tile - 1) / p.Tile
	return p, nil
}

// one fills in a launch of a one-sided program.
func (l *Loaded) one(launch *Launch, geo data.Geometry, args *Args) error {
	one, proto := l.img.One, l.img.Program.Protocol
	if args.Protocol != nil && *args.Protocol != proto {
		return fmt.Errorf("a one-sided program of protocol %v cannot run as %v: %w", proto, *args.Protocol, ErrNotSupported)
	}
	columns := cmp.Or(args.Columns, one.enough(min(DefaultColumns, one.Columns), geo.Chunk*int64(args.DType.Size())))
	tile := cmp.Or(args.TileBytes, one.usualTile(DefaultTileBytes))
	wait := cmp.Or(args.Wait, DefaultWait)
	if wait < time.Millisecond || args.Threads < 0 || args.PerBlock < 0 {
		return fmt.Errorf("waits of %v, %d threads or %d a block are out of range", wait, args.Threads, args.PerBlock)
	}
	p, err := one.Params(geo, args.DType, args.RedOp, columns, tile)
	if err != nil {
		return err
	}
	if launch.One, launch.Wait = &p, wait; args.Watch == nil {
		return nil
	}
	if columns != 1 || args.PerBlock > 0 {
		return fmt.Errorf("a launch of %d columns of %d threads cannot be watched: %w", columns, args.PerBlock, ErrNotSupported)
	}
	launch.Watch = args.Watch
	return args.Watch.layOne(l.img, &p)
}

// start has the device launch. Where it has no room for all blocks at once, launches have one pass and the caller leaves columns open, memory is
// made anew for half the columns, of passes twice as long.
func (l *Loaded) start(ctx context.Context, launch *Launch, args *Args) (Stop, error) {
	for {
		stop, err := l.instance.Launch(ctx, launch)
		one := l.img.One
		if !errors.Is(err, ErrNoDevice) || one == nil || !one.OnePass || args.Columns > 0 || one.Columns == 1 {
			return stop, err
		}
		instance := l.instance
		l.instance = nil // until there is another
		if err := errors.Join(instance.Close(), one.room(one.Columns/2, min(2*one.Tile, maxOneTile))); err != nil {
			return stop, err
		}
		if l.instance, err = l.device.Open(l.img); err != nil {
			l.instance = nil
			return stop, fmt.Errorf("%s: %w", l.device.Name(), err)
		}
		geo := data.Geometry{Coll: l.img.Program.Coll, Elems: int64(launch.One.Elems), Chunk: int64(launch.One.Chunk)}
		if err := l.one(launch, geo, args); err != nil {
			return stop, err
		}
	}
}

// Usual columns: what memory is made for, and what a launch has.
const (
	DefaultMaxColumns = 8
	DefaultColumns    = 2
)

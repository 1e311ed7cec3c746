package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"mscclc/bundle/limits"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/executor/proof"
	"mscclc/ir"
)

// A wire says how much of a slot a protocol needs for its flags: packets of
// packet bytes carry data of them. LL and LL16 count their packets by four and by
// two, as the kernel does.
type wire struct{ packet, data int64 }

var wires = [ir.NumProtocols]wire{ir.Simple: {16, 16}, ir.LL: {32, 16}, ir.LL16: {32, 16}, ir.LL128: {128, 120}}

// MaxSlots is the most messages that a connection may hold: Args.Slots.
const MaxSlots = 1 << 16

// A cut is how transfers are cut into messages: the protocol, how many a connection holds, and
// the bytes of one, and of a tile of a chunk.
type cut struct {
	proto            ir.Protocol
	slots            int
	slotBytes, bytes int64
}

// cut returns the cut of a call.
func (l *Loaded) cut(args *Args) (cut, error) {
	c := cut{l.img.Program.Protocol, args.Slots, args.SlotBytes, args.TileBytes}
	if args.Protocol != nil {
		c.proto = *args.Protocol
	}
	if c.proto >= ir.NumProtocols {
		return c, fmt.Errorf("no protocol %d", c.proto)
	}
	c.slots = cmp.Or(c.slots, c.proto.Slots())
	c.slotBytes = cmp.Or(c.slotBytes, c.proto.SlotBytes())
	c.bytes = cmp.Or(c.bytes, DefaultTileBytes)
	if c.slots < 1 || c.slots > MaxSlots || c.slotBytes < 16 || c.slotBytes > 1<<40 || c.bytes < 1 {
		return c, fmt.Errorf("%d slots of %d bytes, or tiles of %d bytes, are out of range", c.slots, c.slotBytes, c.bytes)
	}
	return c, nil
}

// params computes tiles and slots, and fills in the launch's numbers.
func (l *Loaded) params(launch *Launch, geo data.Geometry, args *Args) error {
	cut, err := l.cut(args)
	if err != nil {
		return err
	}
	wait := cmp.Or(args.Wait, DefaultWait)
	if wait < time.Millisecond || args.Threads < 0 || args.PerBlock < 0 {
		return fmt.Errorf("waits of %v, %d threads or %d a block are out of range", wait, args.Threads, args.PerBlock)
	}
	c, size := geo.Coll, int64(args.DType.Size())
	tile := min(max(min(cut.bytes, cut.slotBytes)/size, 1), max(geo.Chunk, 1))
	launch.Params = abi.Params{
		Elems: uint64(geo.Elems), Chunk: uint64(geo.Chunk), Tile: uint64(tile),
		SlotBytes: uint64(cut.slotBytes), SlotStride: uint64(l.stride(cut.proto, cut.slotBytes, tile*size)),
		Chunks: uint32(c.Chunks), Slots: uint32(cut.slots),
		BlockCount: uint32(len(l.img.Blocks)), RankCount: uint32(c.Ranks),
		Proto: uint32(cut.proto), DType: uint32(args.DType), RedOp: uint32(args.RedOp), ElemSize: uint32(size),
		Inverse: 1 / float64(c.Ranks),
	}
	launch.Wait = wait
	launch.Messages = uint64(launch.Params.Tiles()) * uint64(l.img.MaxChunks)
	if launch.Messages >= 1<<31 {
		return fmt.Errorf("%d tiles are too many messages; give larger slots", launch.Params.Tiles())
	}
	return nil
}

// asked returns what a launch asks of the proof of its program. The kernel counts
// the chunks of a message tile by tile; a whole tile's have the most bytes.
func asked(p *abi.Params) proof.Demand {
	d := proof.Demand{Protocol: ir.Protocol(p.Proto), Slots: int(p.Slots), Chunks: ir.MaxMessageChunks}
	if bytes := min(p.Tile, p.Chunk) * uint64(p.ElemSize); bytes > 0 {
		d.Chunks = int(min(max(p.SlotBytes/bytes, 1), ir.MaxMessageChunks))
	}
	return d
}

// stride returns the bytes of a slot with its flags, for the largest message of a
// launch. Each run of bytes in a message begins in a packet of its own.
func (l *Loaded) stride(proto ir.Protocol, slotBytes, tileBytes int64) int64 {
	w := wires[proto]
	runs := int64(min(max(l.img.MaxCount, 1), ir.MaxMessageChunks))
	payload := min(slotBytes, runs*tileBytes)
	packets := (payload+w.data-1)/w.data + runs
	return (packets*w.packet + 127) &^ 127
}

// one fills in a launch of a one-sided program.
func (l *Loaded) one(launch *Launch, geo data.Geometry, args *Args) error {
	one, proto := l.img.One, l.img.Program.Protocol
	if args.Protocol != nil && *args.Protocol != proto {
		return fmt.Errorf("a one-sided program of protocol %v cannot run as %v: %w", proto, *args.Protocol, ErrNotSupported)
	}
	columns := cmp.Or(args.Columns, one.Enough(min(DefaultColumns, one.Columns), geo.Chunk*int64(args.DType.Size())))
	tile := cmp.Or(args.TileBytes, one.UsualTile(DefaultTileBytes))
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
		return fmt.Errorf("a launch of %d replicas of %d threads cannot be watched: %w", columns, args.PerBlock,
			ErrNotSupported)
	}
	launch.Watch = args.Watch
	return args.Watch.layOne(l.img, &p)
}

// start has the device launch. Where it has no room for all blocks at once, launches have one pass and the caller
// leaves replicas open, memory is made anew for half the replicas, of passes twice as long.
func (l *Loaded) start(ctx context.Context, launch *Launch, args *Args) (Stop, error) {
	for {
		stop, err := l.instance.Launch(ctx, launch)
		one := l.img.One
		if !errors.Is(err, ErrNoDevice) || one == nil || !one.OnePass || args.Columns > 0 || one.Columns == 1 {
			return stop, err
		}
		instance := l.instance
		l.instance = nil // until there is another
		if err := errors.Join(instance.Close(), one.Reserve(one.Columns/2, min(2*one.Tile, limits.Tile))); err != nil {
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

// Usual replicas: what memory is made for, and what a launch has.
const (
	DefaultMaxColumns = launch.MostHostColumns
	DefaultColumns    = 2
)

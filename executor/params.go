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

// MaxSlots is the most messages that a connection may hold: Args.Slots.
const MaxSlots = 1 << 16

// A Cut is how transfers are cut into messages: the protocol, how many a connection holds, and
// the bytes of one, and of a tile of a chunk.
type Cut struct {
	Proto            ir.Protocol
	Slots            int
	SlotBytes, Bytes int64
}

// CutOf returns the cut of a call.
func (c *Checked) CutOf(args *Args) (Cut, error) {
	cut := Cut{c.Image.Program.Protocol, args.Slots, args.SlotBytes, args.TileBytes}
	if args.Protocol != nil {
		cut.Proto = *args.Protocol
	}
	if cut.Proto >= ir.NumProtocols {
		return cut, fmt.Errorf("no protocol %d", cut.Proto)
	}
	cut.Slots = cmp.Or(cut.Slots, cut.Proto.Slots())
	cut.SlotBytes = cmp.Or(cut.SlotBytes, cut.Proto.SlotBytes())
	cut.Bytes = cmp.Or(cut.Bytes, DefaultTileBytes)
	if cut.Slots < 1 || cut.Slots > MaxSlots || cut.SlotBytes < 16 || cut.SlotBytes > 1<<40 || cut.Bytes < 1 {
		return cut, fmt.Errorf("%d slots of %d bytes, or tiles of %d bytes, are out of range", cut.Slots, cut.SlotBytes, cut.Bytes)
	}
	return cut, nil
}

// Params computes tiles and slots, and fills in the launch's numbers.
func (c *Checked) Params(launch *Launch, geo data.Geometry, args *Args) error {
	cut, err := c.CutOf(args)
	if err != nil {
		return err
	}
	wait := cmp.Or(args.Wait, DefaultWait)
	if wait < time.Millisecond || args.Threads < 0 || args.PerBlock < 0 {
		return fmt.Errorf("waits of %v, %d threads or %d a block are out of range", wait, args.Threads, args.PerBlock)
	}
	coll, size := geo.Coll, int64(args.DType.Size())
	tile := min(max(min(cut.Bytes, cut.SlotBytes)/size, 1), max(geo.Chunk, 1))
	launch.Params = abi.Params{
		Elems: uint64(geo.Elems), Chunk: uint64(geo.Chunk), Tile: uint64(tile),
		SlotBytes: uint64(cut.SlotBytes), SlotStride: uint64(c.Stride(cut.Proto, cut.SlotBytes, tile*size)),
		Chunks: uint32(coll.Chunks), Slots: uint32(cut.Slots),
		BlockCount: uint32(len(c.Image.Blocks)), RankCount: uint32(coll.Ranks),
		Proto: uint32(cut.Proto), DType: uint32(args.DType), RedOp: uint32(args.RedOp), ElemSize: uint32(size),
		Inverse: 1 / float64(coll.Ranks),
	}
	launch.Wait = wait
	launch.Messages = uint64(launch.Params.Tiles()) * uint64(c.Image.MaxChunks)
	if launch.Messages >= 1<<31 {
		return fmt.Errorf("%d tiles are too many messages; give larger slots", launch.Params.Tiles())
	}
	return nil
}

// Asked returns what a launch asks of the proof of its program. The kernel counts
// the chunks of a message tile by tile; a whole tile's have the most bytes.
func Asked(p *abi.Params) proof.Demand {
	d := proof.Demand{Protocol: ir.Protocol(p.Proto), Slots: int(p.Slots), Chunks: ir.MaxMessageChunks}
	if bytes := min(p.Tile, p.Chunk) * uint64(p.ElemSize); bytes > 0 {
		d.Chunks = int(min(max(p.SlotBytes/bytes, 1), ir.MaxMessageChunks))
	}
	return d
}

// Stride returns the bytes of a slot with its flags, for the largest message of a
// launch. Each run of bytes in a message begins in a packet of its own.
func (c *Checked) Stride(proto ir.Protocol, slotBytes, tileBytes int64) int64 {
	w := proto.Row()
	runs := int64(min(max(c.Image.MaxCount, 1), ir.MaxMessageChunks))
	payload := min(slotBytes, runs*tileBytes)
	packets := (payload+w.Data-1)/w.Data + runs
	return (packets*w.Packet + 127) &^ 127
}

// one fills in a launch of a one-sided program.
func (c *Checked) one(launch *Launch, geo data.Geometry, args *Args) error {
	one, proto := c.Image.One, c.Image.Program.Protocol
	if args.Protocol != nil && *args.Protocol != proto {
		return fmt.Errorf("a one-sided program of protocol %v cannot run as %v: %w", proto, *args.Protocol, ErrNotSupported)
	}
	least := min(DefaultReplicas, one.Replicas)
	replicas := cmp.Or(args.Replicas, one.Enough(least, geo.Chunk*unit(args)))
	if args.Rows != nil {
		replicas = cmp.Or(args.Replicas, one.EnoughRows(least, geo.Chunk, unit(args)))
	}
	tile := cmp.Or(args.TileBytes, one.UsualTile(DefaultTileBytes))
	wait := cmp.Or(args.Wait, DefaultWait)
	if wait < time.Millisecond || args.Threads < 0 || args.PerBlock < 0 {
		return fmt.Errorf("waits of %v, %d threads or %d a block are out of range", wait, args.Threads, args.PerBlock)
	}
	p, err := one.Params(geo, args.DType, args.RedOp, replicas, tile)
	if args.Rows != nil {
		p, err = one.RowParams(geo, args.DType, args.RedOp, args.Rows.Length, replicas, tile)
	}
	if err != nil {
		return err
	}
	if launch.One, launch.Wait = &p, wait; args.Watch == nil {
		return nil
	}
	if replicas != 1 || args.PerBlock > 0 {
		return fmt.Errorf("a launch of %d replicas of %d threads cannot be watched: %w", replicas, args.PerBlock,
			ErrNotSupported)
	}
	launch.Watch = args.Watch
	return args.Watch.layOne(c.Image, &p)
}

// start has the device launch. Where it has no room for all blocks at once, launches have one pass and the caller
// leaves replicas open, memory is made anew for half the replicas, of passes twice as long.
func (l *Loaded) start(ctx context.Context, launch *Launch, args *Args) (Stop, error) {
	for {
		stop, err := l.instance.Launch(ctx, launch)
		one := l.of.Image.One
		if !errors.Is(err, ErrNoDevice) || one == nil || !one.OnePass || args.Replicas > 0 || one.Replicas == 1 {
			return stop, err
		}
		if err := l.reopen(one.Replicas/2, min(2*one.Tile, limits.Tile)); err != nil {
			return stop, err
		}
		geo := data.Geometry{Coll: l.of.Image.Program.Coll, Elems: int64(launch.One.Elems), Chunk: int64(launch.One.Chunk)}
		if err := l.of.one(launch, geo, args); err != nil {
			return stop, err
		}
	}
}

// reopen makes the program's memory on the device anew, for a number of replicas, and tiles of `tile` bytes.
func (l *Loaded) reopen(replicas int, tile int64) error {
	instance := l.instance
	l.instance = nil // until there is another
	if err := errors.Join(instance.Close(), l.of.Image.One.Reserve(replicas, tile)); err != nil {
		return err
	}
	var err error
	if l.instance, err = l.device.Open(l.of.Image); err != nil {
		l.instance = nil
		return fmt.Errorf("%s: %w", l.device.Name(), err)
	}
	return nil
}

// Usual replicas: what memory is made for, and what a launch has.
const (
	DefaultMaxReplicas = launch.MostHostReplicas
	DefaultReplicas    = 2
)

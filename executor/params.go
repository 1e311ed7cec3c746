package executor

import (
	"fmt"
	"time"

	"mscclc/ir"
)

// A wire says how much of a slot a protocol needs for its flags: packets of
// packet bytes carry data of them. LL and LL16 count their packets by four and by
// two, as the kernel does.
type wire struct{ packet, data int64 }

var wires = [ir.NumProtocols]wire{ir.Simple: {16, 16}, ir.LL: {32, 16}, ir.LL16: {32, 16}, ir.LL128: {128, 120}}

// maxSlots bounds the messages that a connection holds.
const maxSlots = 1 << 16

// params computes tiles and slots, and fills in the launch's numbers.
func (l *Loaded) params(launch *Launch, geo Geometry, args *Args) error {
	c, size := geo.Coll, int64(args.DType.Size())
	proto := l.img.Program.Protocol
	if args.Protocol != nil {
		proto = *args.Protocol
	}
	if proto >= ir.NumProtocols {
		return fmt.Errorf("no protocol %d", proto)
	}
	slots, slotBytes, tileBytes, wait := args.Slots, args.SlotBytes, args.TileBytes, args.Wait
	setDefault(&slots, proto.Slots())
	setDefault(&slotBytes, proto.SlotBytes())
	setDefault(&tileBytes, DefaultTileBytes)
	setDefault(&wait, DefaultWait)
	if slots < 1 || slots > maxSlots || slotBytes < 16 || slotBytes > 1<<40 || tileBytes < 1 || wait < time.Millisecond || args.Threads < 0 || args.PerBlock < 0 {
		return fmt.Errorf("%d slots of %d bytes, tiles of %d bytes or waits of %v are out of range", slots, slotBytes, tileBytes, wait)
	}
	tile := min(max(min(tileBytes, slotBytes)/size, 1), max(geo.Chunk, 1))
	launch.Params = Params{
		Elems: uint64(geo.Elems), Chunk: uint64(geo.Chunk), Tile: uint64(tile),
		SlotBytes: uint64(slotBytes), SlotStride: uint64(l.stride(proto, slotBytes, tile*size)),
		Chunks: uint32(c.Chunks), Slots: uint32(slots),
		BlockCount: uint32(len(l.img.Blocks)), RankCount: uint32(c.Ranks),
		Proto: uint32(proto), DType: uint32(args.DType), RedOp: uint32(args.RedOp), ElemSize: uint32(size),
	}
	launch.Wait = wait
	launch.Messages = uint64(tiles(&launch.Params)) * uint64(l.img.MaxChunks)
	if launch.Messages >= 1<<31 {
		return fmt.Errorf("%d tiles are too many messages; give larger slots", tiles(&launch.Params))
	}
	return nil
}

// stride is the bytes of a slot with its flags, for the largest message of a
// launch. Each run of bytes in a message begins in a packet of its own.
func (l *Loaded) stride(proto ir.Protocol, slotBytes, tileBytes int64) int64 {
	w := wires[proto]
	runs := int64(min(max(l.img.MaxCount, 1), ir.MaxMessageChunks))
	payload := min(slotBytes, runs*tileBytes)
	packets := (payload+w.data-1)/w.data + runs
	return (packets*w.packet + 127) &^ 127
}

func setDefault[T comparable](v *T, usual T) {
	var zero T
	if *v == zero {
		*v = usual
	}
}

package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/proof"
	"mscclc/ir"
)

// A twoSided is a plan of a two-sided program. The slots and counters of its connections
// (slots.go) are made for one protocol, and for messages up to a length; what blocks
// have sent and received is in memory too, so that a captured launch can be replayed.
type twoSided struct {
	*Plan
	cut    executor.Cut
	asked  int         // slots
	stride uint64      // from slot to slot
	place  []connPlace // of the image's connections
	bytes  []uint64    // of arenas, by rank
	piece  int64       // bytes that scratch is made for at first
}

// twoCalls is how many calls a plan of a two-sided program has at once.
const twoCalls = 4096

func newTwoSided(p *Plan, opt *Options) (kind, error) {
	cut, err := p.checked.CutOf(&executor.Args{Protocol: opt.Protocol, Slots: opt.Slots, SlotBytes: opt.SlotBytes,
		TileBytes: opt.TileBytes})
	if err != nil {
		return nil, err
	}
	if opt.Replicas < 0 || opt.Replicas > 1 {
		return nil, errReplicas
	}
	if opt.PieceBytes < 0 || opt.PieceBytes > longest {
		return nil, fmt.Errorf("pieces of %d bytes are out of range", opt.PieceBytes)
	}
	asked := cut.Slots
	// A message finds its slot by 32 bits of its number: that is for ever if slots are a power of two.
	cut.Slots = 1 << bits.Len(uint(cut.Slots-1))
	p.replicas, p.tile = 1, cut.Bytes
	stride := p.checked.Stride(cut.Proto, cut.SlotBytes, max(min(cut.Bytes, cut.SlotBytes), 8))
	two := &twoSided{Plan: p, cut: cut, asked: asked, stride: uint64(stride), piece: opt.PieceBytes}
	return two, two.lay()
}

var errReplicas = fmt.Errorf(
	"a two-sided program has no replicas: its blocks are what it was compiled to (--instances): %w", executor.ErrNotSupported)

func (p *twoSided) hash(w *proof.Hash) {
	img := p.checked.Image
	w.Numbers(int64(p.cut.Proto), int64(p.cut.Slots), p.cut.SlotBytes)
	w.Int32s(p.program().Scratch...)
	w.Table(raw(img.Blocks))
	w.Table(raw(img.Steps))
	w.Table(raw(img.Conns))
}

// shares returns the buffers that steps of other ranks access: none.
func (p *twoSided) shares() []ir.Buf { return nil }

func (p *twoSided) choose(c *Call, args *CallArgs, geo data.Geometry) error {
	if args.Replicas < 0 || args.Replicas > 1 {
		return errReplicas
	}
	for r := range geo.Coll.Ranks {
		in, out, _, _, all := geo.Buffers(r)
		if n := max(in, out, all, p.scratch(r, geo)); n > longest/int64(args.DType.Size()) {
			return fmt.Errorf("buffers of %d elements of rank %d are over the limit of %d bytes", n, r, int64(longest))
		}
	}
	tile := cmp.Or(args.TileBytes, p.tile)
	launch := &executor.Launch{}
	err := p.checked.Params(launch, geo, &executor.Args{DType: args.DType, RedOp: args.RedOp, Protocol: &p.cut.Proto,
		Slots: p.cut.Slots, SlotBytes: p.cut.SlotBytes, TileBytes: min(tile, p.tile)})
	if err != nil {
		return err
	}
	c.two = launch.Params
	c.two.SlotStride = p.stride
	c.replicas, c.tile, c.passes = 1, int64(c.two.Tile)*int64(args.DType.Size()), c.two.Tiles()
	return p.checked.Proof.Cover(executor.Asked(&c.two))
}

func (p *twoSided) narrow(*Call, data.Geometry, int) error { return nil } // there is one width

// longest bounds a buffer: the kernel counts its 16-byte units in 32 bits.
const longest = 1 << 35

func (p *twoSided) ready(c *Call, s *seat, args *CallArgs, memory []abi.OneMemory) (*executor.Ready, error) {
	t := s.two
	if len(t.blocks) == 0 {
		return nil, nil
	}
	params := c.two
	params.States, params.StatusAt = s.at.states, s.at.status
	params.Steps, params.Blocks, params.Conns = s.at.tables[0], s.at.tables[1], s.at.tables[2]
	params.BlockCount = uint32(len(t.blocks))
	scratch, err := p.scratches(s, data.NewGeometry(p.program().Coll, args.Elems, args.DType.Size()), args.DType.Size())
	if err != nil {
		return nil, err
	}
	rows := make([]abi.RankMemory, len(s.ranks))
	for i, r := range s.ranks {
		rows[i] = abi.RankMemory{Input: memory[r].Input, Output: memory[r].Output, Scratch: scratch[i]}
	}
	if params.Ranks, err = c.table(s, raw(rows)); err != nil {
		return nil, err
	}
	trace, err := c.recordTwo(s, &params)
	if err != nil {
		return nil, err
	}
	return &executor.Ready{Order: p.order, Two: &abi.TwoParams{Params: params, Numbers: s.at.tables[3]}, Trace: trace,
		Threads: args.Threads}, nil
}

func (p *twoSided) before(s *seat, status *abi.Status) ([]byte, error) {
	var before abi.State
	if int(status.Block) >= len(s.two.blocks) {
		return nil, errors.New("a block that the program does not have has timed out")
	}
	err := s.gpu.Peek(bytesAt(&before), s.at.states+uint64(status.Block)*uint64(unsafe.Sizeof(before)))
	// A launch after the one that failed may have continued, if all ranks had started it.
	before.Tiles = min(before.Tiles, status.Tile)
	status.Block = s.two.numbers[status.Block]
	return bytesAt(&before), err
}

func (p *twoSided) explain(status *abi.Status, before []byte, _ uint32) error {
	stop, img := executor.Stop{Status: *status}, p.checked.Image
	if len(before) != int(unsafe.Sizeof(stop.Before)) || !waits(img, status) {
		return errors.New("a step that the program does not have has timed out")
	}
	copy(bytesAt(&stop.Before), before)
	return p.checked.Timeout(&abi.Params{Slots: uint32(p.cut.Slots), Proto: uint32(p.cut.Proto)}, &stop)
}

// waits reports whether s names a step of img, and something that this step may wait for.
func waits(img *abi.Image, s *abi.Status) bool {
	if int(s.Block) >= len(img.Blocks) || s.Step >= img.Blocks[s.Block].Steps {
		return false
	}
	b := &img.Blocks[s.Block]
	switch s.What {
	case abi.WaitFlag:
		return img.Steps[b.FirstStep+s.Step].DepBlock >= 0
	case abi.WaitSlot:
		return b.Send >= 0
	}
	return b.Recv >= 0
}

// A twoPart is what a seat has of a two-sided program: the blocks of its ranks, which
// count steps, ranks, blocks and connections within the seat.
type twoPart struct {
	numbers []uint32 // of blocks, in the whole program
	blocks  []abi.Block
	steps   []abi.Step
	conns   []int32 // in the whole program
	all     []uint32
	scratch []scratch // the longest last
}

// newTwoPart returns the part of img that a seat with these ranks has.
func newTwoPart(img *abi.Image, ranks []int) *twoPart {
	t := &twoPart{}
	number := map[int32]int32{-1: -1}
	connect := func(c int32) int32 {
		if _, ok := number[c]; !ok {
			number[c] = int32(len(t.conns))
			t.conns = append(t.conns, c)
		}
		return number[c]
	}
	first := map[uint32]uint32{}
	for i, b := range img.Blocks {
		at := slices.Index(ranks, int(b.Rank))
		if at < 0 {
			continue
		}
		if _, ok := first[b.Rank]; !ok {
			first[b.Rank] = uint32(len(t.blocks))
		}
		steps := img.Steps[b.FirstStep : b.FirstStep+b.Steps]
		b.Rank, b.FirstBlock, b.FirstStep = uint32(at), first[b.Rank], uint32(len(t.steps))
		b.Send, b.Recv = connect(b.Send), connect(b.Recv)
		t.all, t.numbers = append(t.all, uint32(len(t.blocks))), append(t.numbers, uint32(i))
		t.blocks, t.steps = append(t.blocks, b), append(t.steps, steps...)
	}
	return t
}

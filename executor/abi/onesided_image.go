package abi

import (
	"math"

	"mscclc/bundle/limits"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// A OneImage is a one-sided program as flat tables, those of all its blocks; step i
// is step i of the program.
type OneImage struct {
	Steps    []OneStep
	Operands []OneOperand
	Blocks   []OneBlock
	Depth    int
	OnePass  bool // each launch has one pass: Tile must hold a replica's share of a chunk

	// Scratch and Packets are the most chunks that a rank has of them, and Flags the
	// most flags that the program asks for; all ranks have as many. The runtime
	// has a flag for each block beside these.
	Scratch, Packets, Flags int

	// Copies says that no step folds: the kernel needs no arithmetic.
	Copies bool

	// Lines says that a GPU has packets as lines (kernels/protocol/lines.h), in all launches: LL128's, but where a
	// switch has operands, whose launches with and without one must have the same packets.
	Lines bool

	// Port says that a port is to make some of the copies, where the device has one.
	Port bool

	// Message is the most chunks of scratch that a step writes on another rank.
	Message int

	// Replicas and Tile are what memory is made for: no launch has more replicas, or
	// moves more bytes of a chunk in a pass.
	Replicas int
	Tile     int64
}

// maxOneRanks bounds the ranks of a program: rows of operands count them in 16 bits. Package limits has the bounds of
// all other numbers.
const maxOneRanks = math.MaxInt16

// oneBuilder makes a OneImage.
type oneBuilder struct {
	*imageBuilder
	p       *onesided.Program
	one     *OneImage
	signals map[oneFlag]uint32 // of each flag, a pass or a launch
}

// A oneFlag is one flag of a rank.
type oneFlag struct{ rank, index int32 }

// newOneImage turns a one-sided program into tables.
func newOneImage(b *imageBuilder) error {
	p := b.p.OneSided
	one := &OneImage{Depth: int(p.Depth), OnePass: p.OnePass, Copies: true, Lines: p.Protocol.Row().Lines}
	if p.Coll.Ranks > maxOneRanks || p.Coll.Chunks > limits.Chunks {
		return diag.List{diag.New(diag.Limit, diag.Span{}, "%d ranks or %d chunks are more than a one-sided program may have",
			p.Coll.Ranks, p.Coll.Chunks)}
	}
	for r := range p.Coll.Ranks {
		one.Packets, one.Flags, one.Scratch = max(one.Packets, p.PacketsOf(r)), max(one.Flags, p.FlagsOf(r)),
			max(one.Scratch, p.ScratchOf(r))
	}
	c := &oneBuilder{imageBuilder: b, p: p, one: one, signals: map[oneFlag]uint32{}}
	c.countSignals()
	for i := range p.Blocks {
		if err := c.block(i); err != nil {
			return err
		}
	}
	b.img.One = one
	return nil
}

// countSignals finds how often a pass, or a launch, each flag is signalled.
func (c *oneBuilder) countSignals() {
	for i := range c.p.Steps {
		if s := &c.p.Steps[i]; s.Op == ir.Signal {
			for _, x := range c.p.Dests(s) {
				c.signals[oneFlag{x.Rank, x.Index}]++
			}
		}
	}
}

package abi

import (
	"fmt"
	"math"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// A OneImage is a one-sided program as flat tables, those of all its blocks; step i
// is step i of the program.
type OneImage struct {
	Steps    []OneStep
	Operands []OneOperand
	Blocks   []OneBlock
	Depth    int
	OnePass  bool // each launch has one pass: Tile must hold a column's share of a chunk

	// Scratch and Packets are the most chunks that a rank has of them, and Flags the
	// most flags that the program asks for; all ranks have as many. The runtime
	// has a flag for each block beside these.
	Scratch, Packets, Flags int

	// Copies says that no step folds: the kernel needs no arithmetic.
	Copies bool

	// Lines says that a GPU has packets as lines (kernels/lines.h), in all launches: LL128's, but where a
	// switch has operands, whose launches with and without one must have the same packets.
	Lines bool

	// Port says that a port is to make some of the copies, where the device has one.
	Port bool

	// Columns and Tile are what memory is made for: no launch has more columns, or
	// moves more bytes of a chunk in a pass.
	Columns int
	Tile    int64
}

// Limits of the tables' rows.
const (
	maxOneCount   = math.MaxUint16
	maxOneRanks   = math.MaxInt16
	maxOneColumns = 1 << 12
	maxOneDepth   = 1 << 10
)

// MaxOneTile is the most bytes of a chunk that a pass moves.
const MaxOneTile = 1 << 30

// oneBuilder makes a OneImage.
type oneBuilder struct {
	*imageBuilder
	one   *OneImage
	flags map[oneFlag]*flagUse
}

// A oneFlag is one flag of a rank, and a flagUse what the steps so far do with it.
type oneFlag struct{ rank, index int32 }

type flagUse struct {
	signals      uint32 // a pass, or a launch
	block        int    // that signals it
	marked, used bool   // its steps are Enter or Leave
}

// newOneImage turns a one-sided program into tables. Whatever passes here touches no memory but
// its own, even if it is no good otherwise.
func newOneImage(b *imageBuilder) error {
	p, o := b.p, b.p.OneSided
	one := &OneImage{Depth: int(o.Depth), OnePass: o.OnePass, Copies: true, Lines: p.Protocol == ir.LL128}
	c := &oneBuilder{imageBuilder: b, one: one, flags: map[oneFlag]*flagUse{}}
	if badTable(o.Packets, p.Coll.Ranks) || badTable(o.Flags, p.Coll.Ranks) || o.Depth < 1 || o.Depth > maxOneDepth {
		return b.malformed("program has packets %v and flags %v of %d ranks, and %d copies of them", o.Packets, o.Flags, p.Coll.Ranks, o.Depth)
	}
	if p.Coll.Ranks > maxOneRanks || p.Coll.Chunks > maxOneCount {
		return diag.List{diag.New(diag.Limit, diag.Span{}, "%d ranks or %d chunks are more than a one-sided program may have", p.Coll.Ranks, p.Coll.Chunks)}
	}
	for r := range p.Coll.Ranks {
		one.Packets, one.Flags, one.Scratch = max(one.Packets, of(o.Packets, r)), max(one.Flags, of(o.Flags, r)), max(one.Scratch, of(p.Scratch, r))
	}
	for r, span := range p.Rank {
		for i := span.First; i < span.End; i++ {
			if int(p.Blocks[i].Rank) != r {
				return b.malformed("block %d of rank %d says that it is of rank %d", i-span.First, r, p.Blocks[i].Rank)
			}
		}
	}
	if err := c.countSignals(); err != nil {
		return err
	}
	for i := range p.Blocks {
		if err := c.block(i); err != nil {
			return err
		}
	}
	b.img.One = one
	return nil
}

// badTable says whether a table of numbers by rank is neither none nor good.
func badTable(n []int32, ranks int) bool {
	return n != nil && (len(n) != ranks || slices.Min(n) < 0)
}

// of returns what a table has for a rank: 0 where there is no table.
func of(n []int32, rank int) int {
	if n == nil {
		return 0
	}
	return int(n[rank])
}

// operands gives the sources and the destinations of a step.
func (c *oneBuilder) operands(i int32) (src, dst []ir.Operand, err error) {
	s, all := &c.p.Steps[i], c.p.OneSided.Operands
	for _, x := range [2]struct {
		first int32
		n     int16
		to    *[]ir.Operand
	}{{s.Src, s.NSrc, &src}, {s.Dst, s.NDst, &dst}} {
		if x.n < 0 || x.first < 0 || int(x.first)+int(x.n) > len(all) {
			return nil, nil, c.faultAt(diag.Malformed, i, "has operands [%d, %d) of %d", x.first, int(x.first)+int(x.n), len(all))
		}
		*x.to = all[x.first : int(x.first)+int(x.n)]
	}
	return src, dst, nil
}

func (c *oneBuilder) faultAt(code diag.Code, i int32, format string, args ...any) error {
	rank, block, step := c.p.Place(i)
	return c.fault(code, rank, block, step, c.p.Steps[i].Pos, "(%s) %s", c.p.Steps[i].Op, fmt.Sprintf(format, args...))
}

// countSignals finds who signals each flag, and how often a pass.
func (c *oneBuilder) countSignals() error {
	for b := range c.p.Blocks {
		for i := c.p.Blocks[b].Steps.First; i < c.p.Blocks[b].Steps.End; i++ {
			if c.p.Steps[i].Op != ir.Signal {
				continue
			}
			_, dst, err := c.operands(i)
			if err != nil {
				return err
			}
			for _, o := range dst {
				use, err := c.flag(i, &o)
				if err != nil {
					return err
				}
				if use.signals > 0 && use.block != b {
					return c.faultAt(diag.Malformed, i, "signals flag %d of rank %d, which another block signals too", o.Index, o.Rank)
				}
				use.signals, use.block = use.signals+1, b
			}
		}
	}
	return nil
}

// flag checks one operand that is a flag.
func (c *oneBuilder) flag(i int32, o *ir.Operand) (*flagUse, error) {
	if o.Buf != ir.Flags || o.Rank < 0 || int(o.Rank) >= c.p.Coll.Ranks {
		return nil, c.faultAt(diag.Malformed, i, "has an operand that is no flag of a rank")
	}
	if n := of(c.p.OneSided.Flags, int(o.Rank)); o.Index < 0 || int(o.Index) >= n {
		return nil, c.faultAt(diag.OutOfBounds, i, "has flag %d of rank %d, which has %d", o.Index, o.Rank, n)
	}
	at := oneFlag{o.Rank, o.Index}
	use := c.flags[at]
	if use == nil {
		use = &flagUse{}
		c.flags[at] = use
	}
	marked := c.p.Steps[i].Flags&(ir.Enter|ir.Leave) != 0
	if use.used && use.marked != marked {
		return nil, c.faultAt(diag.Malformed, i, "has flag %d of rank %d, some of whose steps are for one pass of a launch, and some for all", o.Index, o.Rank)
	}
	use.marked, use.used = marked, true
	return use, nil
}

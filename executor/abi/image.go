package abi

import (
	"fmt"
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/form"
)

// An Image is a program as flat tables. Devices read it and do not change it.
type Image struct {
	Program *either.Program
	Steps   []Step
	Blocks  []Block
	Conns   []Conn

	// One has the tables of a one-sided program, whose other tables are empty.
	One *OneImage

	// MaxCount is the most chunks that one transfer moves. MaxChunks is the most that
	// all transfers at one end of a connection move together in a tile iteration.
	MaxCount  int
	MaxChunks int

	// Even says that all chunks of a call must have the same length.
	Even bool
	// Final says that some step has the flag ir.Final: averages of integers can be computed.
	Final bool
	// Scales says that the tables distinguish fresh operands from partial sums (eval.Fresh): averages of floats can be
	// computed. Mixed says why they do not, where the program is at fault.
	Scales bool
	Mixed  error
}

// Chunks returns how many chunks a buffer of a rank has, or -1 if it is no buffer of the program.
func (img *Image) Chunks(rank int, buf ir.Buf) int {
	p := img.Program
	switch {
	case buf == ir.Input:
		return p.Coll.InChunks(rank)
	case buf == ir.Output:
		return p.Coll.OutChunks(rank)
	case buf == ir.Scratch:
		return p.ScratchOf(rank)
	case buf == ir.Packets && p.OneSided != nil:
		return p.OneSided.PacketsOf(rank)
	}
	return -1
}

// A Conn is a connection: the channel of MSCCL-IR, and the ranks that send and receive.
type Conn struct{ Channel, Src, Dst int32 }

// String names a connection by its channel and ranks.
func (c Conn) String() string { return fmt.Sprintf("%d %d->%d", c.Channel, c.Src, c.Dst) }

// NewImage returns the tables of p, which must not change as long as they are used. It trusts nothing that p says:
// ir/form checks it first, so that what passes here touches no memory but its own, even if it is wrong otherwise. A
// program that is not well formed, or beyond the limits of the tables, is an error, a diag.List that names the step.
func NewImage(p *either.Program) (*Image, error) {
	if found := form.Check(p, form.Unbounded); len(found) > 0 {
		return nil, found
	}
	if p.Coll.Chunks < 1 { // pieces are divided by it
		return nil, diag.List{diag.New(diag.Malformed, diag.Span{}, "the collective has %d chunks, and no piece to run on",
			p.Coll.Chunks)}
	}
	b := &imageBuilder{p: p, img: &Image{Program: p, Even: p.Even}, ends: map[Conn]int32{}}
	b.findFresh()
	if p.OneSided != nil {
		return b.img, newOneImage(b)
	}
	b.img.Steps = make([]Step, 0, len(p.Steps))
	for r := range p.Rank {
		tbs := p.TBsOf(r)
		for i := range tbs {
			b.block(r, &tbs[i])
		}
	}
	b.img.Even = b.img.Even || b.classesDiffer()
	return b.img, nil
}

type imageBuilder struct {
	p    *either.Program
	img  *Image
	ends map[Conn]int32
	conn []connEnds

	fresh *eval.Fresh // or nil
}

// symbolic bounds the programs that findFresh runs on symbolic chunks: as verify does what it proves, by default.
var symbolic = form.Bounds{Cells: 1 << 26, Memory: math.MaxInt64, Moved: 1 << 28}

// findFresh finds the operands that an average of floats scales. Averages are of all ranks, so that only collectives
// that say which sums are complete have them.
func (b *imageBuilder) findFresh() {
	c := b.p.Coll
	if !c.SumsKnown() || c.Kind == ir.Custom || c.Ranks == 1 {
		return
	}
	if found := form.Check(b.p, symbolic); len(found) > 0 {
		b.img.Mixed = found
		return
	}
	b.fresh, b.img.Mixed = eval.FreshOperands(b.p)
	b.img.Scales = b.img.Mixed == nil
}

// connEnds is what is known of a connection's two ends: the sequence of counts
// and classes, as a hash, shows whether they agree.
type connEnds [2]uint64

// block adds one block and its steps.
func (b *imageBuilder) block(rank int, tb *ir.TB) {
	out := Block{Rank: uint32(rank), FirstBlock: uint32(b.p.Rank[rank].First), FirstStep: uint32(len(b.img.Steps)),
		Send: -1, Recv: -1}
	if tb.SendPeer >= 0 {
		out.Send = b.connect(Conn{tb.Channel, int32(rank), tb.SendPeer})
	}
	if tb.RecvPeer >= 0 {
		out.Recv = b.connect(Conn{tb.Channel, tb.RecvPeer, int32(rank)})
	}
	steps := b.p.StepsOf(tb)
	out.Steps = uint32(len(steps))
	var moved [2]int
	for s := range steps {
		step := b.step(&steps[s], int(tb.Steps.First)+s)
		for way, conn := range [2]int32{out.Send, out.Recv} {
			if info := steps[s].Op.Info(); way == 0 && info.Sends || way == 1 && info.Receives {
				moved[way] += int(step.Count)
				b.conn[conn][way] = (b.conn[conn][way]^uint64(step.Count)<<32^uint64(step.Class))*1099511628211 + 1
				b.img.MaxCount = max(b.img.MaxCount, int(step.Count))
			}
		}
		b.img.Steps = append(b.img.Steps, step)
	}
	b.img.MaxChunks = max(b.img.MaxChunks, moved[0], moved[1])
	chain(b.img.Steps[out.FirstStep:])
	b.img.Blocks = append(b.img.Blocks, out)
}

// connect returns the number of a connection of which a block has one end.
func (b *imageBuilder) connect(c Conn) int32 {
	id, ok := b.ends[c]
	if !ok {
		id = int32(len(b.conn))
		b.ends[c] = id
		b.img.Conns = append(b.img.Conns, c)
		b.conn = append(b.conn, connEnds{})
	}
	return id
}

// classesDiffer reports whether the two ends of some connection disagree.
func (b *imageBuilder) classesDiffer() bool {
	for i := range b.conn {
		if b.conn[i][0] != b.conn[i][1] {
			return true
		}
	}
	return false
}

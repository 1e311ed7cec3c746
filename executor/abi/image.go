package abi

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// maxTables bounds what tables of the kernel are counted in.
const maxTables = 1 << 31

// An Image is a program as flat tables. Devices read it and do not change it.
type Image struct {
	Program *ir.Program
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
	// Final says that some step has the flag ir.Final.
	Final bool
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
		return of(p.Scratch, rank)
	case buf == ir.Packets && p.OneSided != nil:
		return of(p.OneSided.Packets, rank)
	}
	return -1
}

// A Conn is a connection: the channel of MSCCL-IR, and the ranks that send and receive.
type Conn struct{ Channel, Src, Dst int32 }

// String names a connection by its channel and ranks.
func (c Conn) String() string { return fmt.Sprintf("%d %d->%d", c.Channel, c.Src, c.Dst) }

// NewImage returns the tables of p, which must not change as long as they are used. It trusts nothing that p says: a
// program that passes here touches no memory but its own, even if it is wrong otherwise. All else is an error, a
// diag.List that names the step.
func NewImage(p *ir.Program) (*Image, error) {
	b := &imageBuilder{p: p, img: &Image{Program: p, Even: p.Even}, ends: map[Conn]int32{}}
	if err := b.check(); err != nil {
		return nil, err
	}
	if p.OneSided != nil {
		return b.img, newOneImage(b)
	}
	b.mem = p.Memory()
	b.img.Steps = make([]Step, 0, len(p.Steps))
	for r := range p.Rank {
		for i, first := 0, p.Rank[r].First; i < int(p.Rank[r].End-first); i++ {
			if err := b.block(r, i, &p.Blocks[int(first)+i]); err != nil {
				return nil, err
			}
		}
	}
	b.img.Even = b.img.Even || b.classesDiffer()
	return b.img, nil
}

type imageBuilder struct {
	p    *ir.Program
	img  *Image
	mem  *ir.Memory
	ends map[Conn]int32
	conn []connEnds
}

// connEnds is what is known of a connection's two ends: the sequence of counts
// and classes, as a hash, tells whether they agree.
type connEnds struct {
	has [2]bool
	sum [2]uint64
}

// fault is an error at one step.
func (b *imageBuilder) fault(code diag.Code, rank, block, step int, pos int32, format string, args ...any) error {
	d := diag.New(code, b.p.Span(pos), "rank %d block %d step %d %s", rank, block, step, fmt.Sprintf(format, args...))
	d.Rank, d.Block, d.Step = rank, block, step
	return diag.List{d}
}

func (b *imageBuilder) malformed(format string, args ...any) error {
	return diag.List{diag.New(diag.Malformed, diag.Span{}, format, args...)}
}

// check checks the ranges that lead from ranks to steps.
func (b *imageBuilder) check() error {
	p := b.p
	if p.Coll == nil || p.Coll.Ranks < 1 || len(p.Rank) != p.Coll.Ranks {
		return b.malformed("program has blocks for %d ranks", len(p.Rank))
	}
	if p.Coll.Chunks < 1 {
		return b.malformed("collective has %d chunks", p.Coll.Chunks)
	}
	if p.Scratch != nil && len(p.Scratch) != p.Coll.Ranks {
		return b.malformed("program has scratch for %d ranks", len(p.Scratch))
	}
	if len(p.Steps) >= maxTables || len(p.Blocks) >= maxTables {
		return b.malformed("program has too many steps")
	}
	if p.Protocol >= ir.NumProtocols {
		return b.malformed("program has no protocol")
	}
	blocks, steps := int32(0), int32(0)
	for r, span := range p.Rank {
		if span.First != blocks || span.End < span.First || int(span.End) > len(p.Blocks) {
			return b.malformed("blocks of rank %d are [%d, %d)", r, span.First, span.End)
		}
		blocks = span.End
		for i := span.First; i < span.End; i++ {
			tb := &p.Blocks[i]
			if tb.Steps.First != steps || tb.Steps.End < tb.Steps.First || int(tb.Steps.End) > len(p.Steps) {
				return b.malformed("steps of rank %d block %d are [%d, %d)", r, i-span.First, tb.Steps.First, tb.Steps.End)
			}
			steps = tb.Steps.End
		}
	}
	return nil
}

// block adds one block and its steps.
func (b *imageBuilder) block(rank, number int, tb *ir.TB) error {
	out := Block{Rank: uint32(rank), FirstBlock: uint32(b.p.Rank[rank].First), FirstStep: uint32(len(b.img.Steps)), Send: -1, Recv: -1}
	var err error
	if tb.SendPeer >= 0 {
		out.Send, err = b.connect(number, Conn{tb.Channel, int32(rank), tb.SendPeer}, 0)
	}
	if tb.RecvPeer >= 0 && err == nil {
		out.Recv, err = b.connect(number, Conn{tb.Channel, tb.RecvPeer, int32(rank)}, 1)
	}
	if err != nil {
		return err
	}
	steps := b.p.StepsOf(tb)
	out.Steps = uint32(len(steps))
	var moved [2]int
	for s := range steps {
		step, err := b.step(rank, number, s, &steps[s], &out)
		if err != nil {
			return err
		}
		for way, conn := range [2]int32{out.Send, out.Recv} {
			if info := steps[s].Op.Info(); way == 0 && info.Sends || way == 1 && info.Receives {
				moved[way] += int(step.Count)
				b.conn[conn].sum[way] = (b.conn[conn].sum[way]^uint64(step.Count)<<32^uint64(step.Class))*1099511628211 + 1
				b.img.MaxCount = max(b.img.MaxCount, int(step.Count))
			}
		}
		b.img.Steps = append(b.img.Steps, step)
	}
	b.img.MaxChunks = max(b.img.MaxChunks, moved[0], moved[1])
	b.chain(rank, b.img.Steps[out.FirstStep:])
	b.img.Blocks = append(b.img.Blocks, out)
	return nil
}

// connect returns the number of a connection of which a block has one end.
func (b *imageBuilder) connect(block int, c Conn, way int) (int32, error) {
	if int(c.Src) >= b.p.Coll.Ranks || int(c.Dst) >= b.p.Coll.Ranks || c.Src == c.Dst || c.Channel < 0 {
		return 0, b.malformed("block %d has the connection %d %d->%d", block, c.Channel, c.Src, c.Dst)
	}
	id, ok := b.ends[c]
	if !ok {
		id = int32(len(b.conn))
		b.ends[c] = id
		b.img.Conns = append(b.img.Conns, c)
		b.conn = append(b.conn, connEnds{})
	}
	if b.conn[id].has[way] {
		return 0, b.malformed("connection %d %d->%d has two blocks at one end, the second is block %d", c.Channel, c.Src, c.Dst, block)
	}
	b.conn[id].has[way] = true
	return id, nil
}

// classesDiffer says whether the two ends of some connection disagree.
func (b *imageBuilder) classesDiffer() bool {
	for i := range b.conn {
		if b.conn[i].sum[0] != b.conn[i].sum[1] {
			return true
		}
	}
	return false
}

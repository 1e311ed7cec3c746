package picture

import (
	"fmt"
	"slices"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
	"mscclc/ir/verify"
	"mscclc/passes/channels"
)

// A drawing is what a table draws: operations on the chunks of all ranks, in an order in which they may run.
type drawing struct {
	ir.Header
	scratch []ir.ScratchDecl
	ops     []drawnOp
	notes   []string // that go to the head of the picture
}

// A drawnOp writes the reduction of its sources, or a copy of its one source, to each of its destinations: count
// chunks.
type drawnOp struct {
	sources, dests []ir.Ref
	count          int
}

// DrawingOfChunks returns the operations of an algorithm on chunks, in the order of its file.
func DrawingOfChunks(d *ir.ChunkDAG) *drawing {
	x := &drawing{Header: d.Header, scratch: d.Scratch, ops: make([]drawnOp, len(d.Ops))}
	for i := range d.Ops {
		op := &d.Ops[i]
		x.ops[i] = drawnOp{d.Sources(op), []ir.Ref{op.Dst}, int(op.Count)}
	}
	return x
}

// DrawingOfChannels returns the operations of a program of channels, which is right: a pipeline has one loop iteration.
func DrawingOfChannels(p *ir.ChannelProgram) (*drawing, error) {
	one, err := channels.Unroll(p, 1)
	if err != nil {
		return nil, err
	}
	x := drawingOfMoves(one)
	if parts := one.Coll.Divisor() / p.Coll.Divisor(); parts > 1 {
		x.notes = append(x.notes,
			fmt.Sprintf("Each chunk is drawn as %d, since thread blocks share it: chunk %d is the first part of chunk 1.",
				parts, parts))
	}
	if channels.Turns(p, 1<<62) > 1 {
		x.notes = append(x.notes, "Pipelines are drawn with one loop iteration.")
	}
	return x, nil
}

// DrawingOfProgram returns the operations of a one-sided program, if it is right.
func DrawingOfProgram(p *ir.Program, opt verify.Options) (*drawing, error) {
	if _, found := verify.Check(p, opt); found.Rejects() {
		return nil, found
	}
	return drawingOfMoves(p), nil
}

// drawingOfMoves returns the Moves of a one-sided program that runs to its end.
func drawingOfMoves(p *ir.Program) *drawing {
	x := &drawing{Header: p.Header}
	for _, b := range []struct {
		name   string
		chunks []int32
	}{{"scratch", p.Scratch}, {"packets", p.OneSided.Packets}} {
		x.scratch = append(x.scratch, ir.ScratchDecl{Name: b.name, Chunks: int(slices.Max(append([]int32{0}, b.chunks...)))})
	}
	order, _ := eval.Link(p).Schedule(p).Run()
	for _, i := range order {
		if s := &p.Steps[i]; s.Op == ir.Move {
			x.ops = append(x.ops, drawnOp{x.refs(p.OneSided.Sources(s)), x.refs(p.OneSided.Dests(s)), int(s.Count)})
		}
	}
	return x
}

// refs returns where operands are: one through the switch is at all ranks.
func (x *drawing) refs(operands []ir.Operand) (refs []ir.Ref) {
	for _, o := range operands {
		buf := o.Buf
		if buf == ir.Packets {
			buf = ir.Scratch + 1
		}
		first, end := o.Rank, o.Rank+1
		if o.Rank == ir.AllRanks {
			first, end = 0, int32(x.Coll.Ranks)
		}
		for r := first; r < end; r++ {
			refs = append(refs, ir.Ref{Rank: r, Index: o.Index, Buf: buf})
		}
	}
	return refs
}

// base returns where each scratch buffer begins among those of a rank, and how many chunks all of them have.
func (x *drawing) base() (base []int, chunks int) {
	for _, s := range x.scratch {
		base = append(base, chunks)
		chunks += s.Chunks
	}
	return base, chunks
}

// memory numbers the chunks of all ranks.
func (x *drawing) memory() *ir.Memory {
	_, chunks := x.base()
	return ir.NewMemory(x.Coll, slices.Repeat([]int32{int32(chunks)}, x.Coll.Ranks))
}

// mostDrawable bounds the chunks that an algorithm which is drawn has, and those that its operations read and write.
const mostDrawable = 1 << 22

// Check fails if x is too large to be drawn. Messages call it name.
func (x *drawing) check(name string) error {
	left := mostDrawable - x.memory().Len()
	for i := range x.ops {
		left -= x.ops[i].count * (len(x.ops[i].sources) + len(x.ops[i].dests) - 1)
		if left < 0 {
			break
		}
	}
	if left >= 0 {
		return nil
	}
	return diag.List{diag.New(diag.Unsupported, cli.FileSpan(name), "the algorithm is too large to be drawn: "+
		"its ranks have, or its operations access, more than %d chunks", mostDrawable).
		WithHint("draw it for fewer ranks: -p ranks=4")}
}

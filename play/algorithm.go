package play

import (
	"fmt"
	"slices"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/onesided"
	"mscclc/passes/channels"
	"mscclc/passes/lift"
)

// An Algorithm is operations on the chunks of all ranks, in an order in which they may run.
type Algorithm struct {
	ir.Header
	Scratch []ir.ScratchDecl
	Ops     []Operation
	Notes   []string // what a reader of a picture must know
}

// An Operation writes the reduction of its sources, or a copy of its one source, to each of its destinations: Count
// chunks.
type Operation struct {
	Sources, Dests []ir.Ref
	Count          int
	Pos            int32 // index in Spans
	Step           int32 // of Program.Steps, that it is, or -1
}

// OfChunks returns the operations of d, in the order of its file.
func OfChunks(d *ir.ChunkDAG) *Algorithm {
	x := &Algorithm{Header: d.Header, Scratch: d.Scratch, Ops: make([]Operation, len(d.Ops))}
	for i := range d.Ops {
		op := &d.Ops[i]
		x.Ops[i] = Operation{d.Sources(op), []ir.Ref{op.Dst}, int(op.Count), op.Pos, -1}
	}
	return x
}

// OfChannels returns the operations of a program of channels, which is right: a pipeline has one loop iteration.
func OfChannels(p *ir.ChannelProgram) (*Algorithm, error) {
	one, err := channels.Unroll(p, 1)
	if err != nil {
		return nil, err
	}
	x := OfMoves(either.OfOneSided(one), orderOf(either.OfOneSided(one)))
	x.Notes = channelNotes(p, either.OfOneSided(one))
	return x, nil
}

// channelNotes says how an unrolled program differs from what its author wrote.
func channelNotes(p *ir.ChannelProgram, one *either.Program) (notes []string) {
	if parts := one.Coll.Divisor() / p.Coll.Divisor(); parts > 1 {
		notes = append(notes,
			fmt.Sprintf("Each chunk is drawn as %d, since thread blocks share it: chunk %d is the first part of chunk 1.",
				parts, parts))
	}
	if channels.Turns(p, 1<<62) > 1 {
		notes = append(notes, "Pipelines are drawn with one loop iteration.")
	}
	return notes
}

// orderOf returns the steps of a one-sided program in an order in which they may end, as far as it runs.
func orderOf(p *either.Program) []int32 {
	order, _ := eval.Link(p.OneSided).Schedule(p.OneSided).Run()
	return order
}

// OfProgram returns the operations of a one-sided program that runs to its end.
func OfProgram(p *either.Program) *Algorithm { return OfMoves(p, orderOf(p)) }

// OfMoves returns the Moves of a one-sided program among steps, in their order.
func OfMoves(p *either.Program, steps []int32) *Algorithm {
	x := &Algorithm{Header: p.Header}
	for _, b := range []struct {
		name   string
		chunks []int32
	}{{"scratch", p.Scratch}, {"packets", p.OneSided.Packets}} {
		x.Scratch = append(x.Scratch, ir.ScratchDecl{Name: b.name, Chunks: int(slices.Max(append([]int32{0}, b.chunks...)))})
	}
	for _, i := range steps {
		if s := &p.Steps[i]; s.Op.Moves() {
			x.Ops = append(x.Ops,
				Operation{x.refs(p.OneSided.Sources(s)), x.refs(p.OneSided.Dests(s)), int(s.Count), s.Pos, i})
		}
	}
	return x
}

// refs returns where operands are: one through the switch is at all ranks.
func (x *Algorithm) refs(operands []onesided.Operand) (refs []ir.Ref) {
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

// ofSends returns what steps of a two-sided program do, in their order. A message is its source.
func ofSends(p *either.Program, steps []int32) *Algorithm {
	d, of := lift.ChunksOf(p.Fifo, steps)
	x := OfChunks(d)
	for i := range x.Ops {
		x.Ops[i].Step = of[i]
	}
	return x
}

// Bases returns where each scratch buffer begins among those of a rank, and how many chunks all of them have.
func (x *Algorithm) Bases() (base []int, chunks int) {
	for _, s := range x.Scratch {
		base = append(base, chunks)
		chunks += s.Chunks
	}
	return base, chunks
}

// Memory numbers the chunks of all ranks.
func (x *Algorithm) Memory() *ir.Memory {
	_, chunks := x.Bases()
	return ir.NewMemory(x.Coll, slices.Repeat([]int32{int32(chunks)}, x.Coll.Ranks))
}

// Accesses returns how many chunks the ranks have and the operations read and write, but no more than most + 1.
func (x *Algorithm) Accesses(most int) int {
	n := x.Memory().Len()
	for i := range x.Ops {
		n += x.Ops[i].Count * (len(x.Ops[i].Sources) + len(x.Ops[i].Dests) - 1)
		if n > most {
			return most + 1
		}
	}
	return n
}

// BufName names a buffer.
func (x *Algorithm) BufName(b ir.Buf) string {
	if b >= ir.Scratch {
		return x.Scratch[b-ir.Scratch].Name
	}
	return b.String()
}

// Has returns how many chunks rank has in a buffer.
func (x *Algorithm) Has(rank int, b ir.Buf) int {
	switch b {
	case ir.Input:
		return x.Coll.InChunks(rank)
	case ir.Output:
		return x.Coll.OutChunks(rank)
	}
	return x.Scratch[b-ir.Scratch].Chunks
}

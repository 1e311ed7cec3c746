package lang

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
	"mscclc/lang/internal/channels"
)

// This file holds the chunks while the program runs and makes operations.

// An expansion is the memory of all ranks on symbolic chunks, and the
// operations made so far. A cell's writer is the number of an operation, from 1.
type expansion struct {
	coll    *ir.Collective
	scratch []ir.ScratchDecl
	bufs    int     // input, output and the scratch buffers
	place   []place // of each rank, bufs of them
	write   []span32
	cells   *eval.Cells
	values  *eval.Values

	read []eval.Run // what an operation reads
	made eval.Total // what a reduction makes

	ops    []ir.ChunkOp
	srcs   []ir.Ref
	likely estimate
	spent  int64 // operands beyond the first, and copies
	spans  []diag.Span

	declaration diag.Span // the line that says the collective
	declared    int32     // its number in spans
	ways        int32
	hints       []ir.Hint
	hintAt      map[ir.Hint]int32
	strays      bool // something wrote to input that is not also output

	finishing finishing // what the file says of rows that go to the output

	firstOp  diag.Span       // the first operation on chunks
	channels *channels.Level // what the file says of channels, or nil
	packets  bool            // what lies in scratch is packets where channels are used
}

// A place is where a buffer of a rank lies among the cells.
type place struct{ cell, chunks int32 }

// span32 is the part of a rank's input that is also output.
type span32 struct{ from, to int32 }

// poisoned is the writer of cells that hold nothing because something failed.
const poisoned = -2

// begin lays out memory for coll, and fills the inputs.
func (p *expansion) begin(coll *ir.Collective, scratch []ir.ScratchDecl) {
	p.coll, p.scratch, p.bufs, p.ways = coll, scratch, 2+len(scratch), 1
	p.hints = []ir.Hint{ir.NoHint}
	p.spans = append(p.spans, p.declaration)
	p.declared = int32(len(p.spans) - 1)
	p.layOut()
	p.values = eval.NewValues(coll)
	p.cells.Fill(p.values, func(rank int) int { return int(p.at(int32(rank), ir.Input).cell) })
	ins, outs := 0, 0
	for r := range coll.Ranks {
		ins, outs = ins+coll.InChunks(r), outs+coll.OutChunks(r)
	}
	p.estimate(ins, outs)
}

// layOut gives every buffer of every rank its cells.
func (p *expansion) layOut() {
	coll := p.coll
	p.place = make([]place, coll.Ranks*p.bufs)
	p.write = make([]span32, coll.Ranks)
	mem := ir.NewMemory(coll, nil)
	end := int32(0)
	for r := range coll.Ranks {
		first, _ := mem.Rank(r)
		own := func(b ir.Buf) int32 { return end + int32(mem.Cell(r, b, 0)-first) }
		in, out := place{own(ir.Input), int32(coll.InChunks(r))}, place{own(ir.Output), int32(coll.OutChunks(r))}
		places := p.place[r*p.bufs : (r+1)*p.bufs]
		places[0], places[1] = in, out
		if coll.Inplace {
			lo := max(0, out.cell-in.cell)
			hi := min(in.chunks, out.cell+out.chunks-in.cell)
			p.write[r] = span32{min(lo, hi), hi}
		}
		start := end
		end = own(ir.Scratch)
		for i := range p.scratch {
			places[2+i] = place{end, int32(p.scratch[i].Chunks)}
			end += places[2+i].chunks
		}
		if (end-start)%aliased == 0 {
			end += cacheLine
		}
	}
	p.cells = eval.NewCells(int(end))
}

// Where the ranks' cells lie a multiple of aliased apart, those of one index
// would compete for a few lines of the processor's caches: a line is left out.
const (
	cacheLine = 8
	aliased   = 8 * cacheLine
)

// An estimate is how many elements each list may get: as many as rings make,
// and most programs no more.
type estimate struct{ ops, srcs int }

func (p *expansion) estimate(ins, outs int) {
	p.likely.ops = max(ins, outs)
	sums := 0
	if p.coll.Reduces() {
		sums = p.likely.ops
	}
	if p.coll.Kind == ir.AllReduce {
		p.likely.ops *= 2
	}
	p.likely.srcs = p.likely.ops + sums
}

// room returns list with room for another element.
func room[T any](list []T, likely int) []T {
	if len(list) < cap(list) {
		return list
	}
	return grown(list, likely)
}

// grown returns list with more room. It grows eightfold as far as is likely,
// then twofold: append copies long lists more often.
func grown[T any](list []T, likely int) []T {
	n := len(list)
	return slices.Grow(list, max(64, n, min(7*n, likely-n)))
}

// fitted returns list without much room at its end.
func fitted[T any](list []T) []T {
	if cap(list) > 2*len(list) {
		return slices.Clone(list)
	}
	return list
}

// at returns the place of a buffer.
func (p *expansion) at(rank int32, b ir.Buf) place { return p.place[int(rank)*p.bufs+int(b)] }

// memory returns what a rank has of each buffer; the scratch buffers are one at the level of channels.
func (p *expansion) memory(rank int32) channels.Memory {
	own := channels.Memory{In: p.at(rank, ir.Input).chunks, Out: p.at(rank, ir.Output).chunks}
	for i := range p.scratch {
		own.Scratch += int32(p.scratch[i].Chunks)
	}
	return own
}

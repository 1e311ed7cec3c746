package play

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
	"mscclc/lang"
)

// mostWrong is how many wrong chunks a scene lists.
const mostWrong = 64

// A framer fills in what a scene shows of a run.
type framer struct {
	*builder
	columns  map[int]int // of cells
	contents map[eval.Value]int
	paths    map[[2]int32]int
}

// frames shows which chunk goes where, frame by frame.
func (b *builder) frames() {
	if b.alg == nil {
		return
	}
	if len(b.alg.Ops) > mostOps || b.alg.Accesses(mostCells) > mostCells {
		b.note("The algorithm is too large to be shown: it has %s. For fewer ranks it is shown.",
			diag.Counted(len(b.alg.Ops), "operation"))
		return
	}
	b.scene.Notes = append(b.scene.Notes, b.alg.Notes...)
	b.run = RunOf(b.alg)
	f := &framer{b, map[int]int{}, map[eval.Value]int{}, map[[2]int32]int{}}
	f.table()
	f.operations()
	for k, changes := range b.run.Frames {
		frame := Frame{Ops: []int{}, Writes: []Write{}}
		for i := range changes {
			c := &changes[i]
			if n := len(frame.Ops); n == 0 || frame.Ops[n-1] != c.Op {
				frame.Ops = append(frame.Ops, c.Op)
			}
			to := &b.alg.Ops[c.Op].Dests[c.To]
			frame.Writes = append(frame.Writes, Write{int(to.Rank), f.columns[c.Cell], f.content(c.Holds), c.Op})
		}
		for _, op := range frame.Ops {
			b.scene.Ops[op].Frame = k
		}
		b.scene.Frames = append(b.scene.Frames, frame)
	}
	f.wrong()
}

// table says which chunks ranks have, and what they hold before the first frame.
func (f *framer) table() {
	s, x := f.scene, f.alg
	for b := range ir.Scratch + ir.Buf(len(x.Scratch)) {
		buffer := Buffer{Name: x.BufName(b), Chunks: []int{}}
		for r := range x.Coll.Ranks {
			buffer.Chunks = append(buffer.Chunks, x.Has(r, b))
		}
		s.Buffers = append(s.Buffers, buffer)
	}
	for k, place := range f.run.Places() {
		s.Columns = append(s.Columns, Column{int(place.Buf), place.Index})
		for r := range x.Coll.Ranks {
			if at := f.run.At(r, place); at >= 0 {
				if _, known := f.columns[at]; known {
					continue
				}
				f.columns[at] = k
				if holds := f.run.Start[at]; holds != eval.None {
					s.Start = append(s.Start, Holds{r, k, f.content(holds)})
				}
			}
		}
	}
}

// content returns the number of what a chunk holds, or -1 for nothing.
func (f *framer) content(x eval.Value) int {
	if x == eval.None {
		return -1
	}
	i, known := f.contents[x]
	if !known {
		i = len(f.scene.Contents)
		f.contents[x] = i
		parts, _ := f.run.Parts(x)
		c := Content{Text: f.run.Text(x), Says: f.run.Values.Describe(x), Parts: [][2]int{}, Size: f.run.Values.Size(x)}
		for _, p := range parts {
			c.Parts = append(c.Parts, [2]int{int(p.Rank), int(p.Index)})
		}
		f.scene.Contents = append(f.scene.Contents, c)
	}
	return i
}

// operations says what each operation does, and where it is from.
func (f *framer) operations() {
	where := f.where()
	for i := range f.alg.Ops {
		op := &f.alg.Ops[i]
		out := Op{Kind: "copy", Count: op.Count, From: f.refs(op.Sources), To: f.refs(op.Dests), Level: "rank",
			Paths: []int{}, At: spanOf(f.alg.Span(op.Pos)), Where: []string{}}
		if len(op.Sources) > 1 {
			out.Kind = "reduce"
		}
		for _, from := range op.Sources {
			for _, to := range op.Dests {
				f.connect(&out, from.Rank, to.Rank)
			}
		}
		out.Here = out.At
		if where != nil {
			for _, n := range where[i] {
				out.Where = append(out.Where, WhereText(n))
				if out.Here.File != f.Name && n.Span.Filename == f.Name {
					out.Here = spanOf(n.Span)
				}
			}
		}
		f.scene.Ops = append(f.scene.Ops, out)
	}
}

// where returns the loops and calls that operations were made in, where the text says so.
func (f *framer) where() [][]diag.Note {
	if f.tree == nil || f.scene.Kind != "chunks" {
		return nil
	}
	ops := make([]int32, len(f.alg.Ops))
	for i := range ops {
		ops[i] = int32(i)
	}
	return lang.Where(f.tree, f.opt, ops)
}

// ref returns a run of chunks as the scene has it.
func (f *framer) ref(r *ir.Ref) Ref {
	return Ref{int(r.Rank), int(r.Buf), int(r.Index), f.columns[f.run.Cell(r, 0)]}
}

func (f *framer) refs(list []ir.Ref) []Ref {
	out := make([]Ref, len(list))
	for i := range list {
		out[i] = f.ref(&list[i])
	}
	return out
}

// connect has an operation move data from a rank to another.
func (f *framer) connect(op *Op, from, to int32) {
	if from == to {
		return
	}
	nodes := f.scene.Collective.NodeOf
	if nodes[from] != nodes[to] {
		op.Level = "network"
	} else if op.Level == "rank" {
		op.Level = "node"
	}
	if f.seats == nil || len(f.scene.Machine.Links) == 0 {
		return
	}
	pair := [2]int32{from, to}
	i, known := f.paths[pair]
	if !known {
		ids, all := f.topology.Ways([][2]int32{{f.seats[from], f.seats[to]}})
		i = len(f.scene.Machine.Paths)
		f.paths[pair] = i
		path := Path{From: int(from), To: int(to), Links: []int{}}
		for _, l := range all[ids[0]] {
			path.Links = append(path.Links, int(l))
		}
		f.scene.Machine.Paths = append(f.scene.Machine.Paths, path)
	}
	if !slices.Contains(op.Paths, i) {
		op.Paths = append(op.Paths, i)
	}
}

// wrong lists the chunks of outputs that end wrong.
func (f *framer) wrong() {
	if f.proven || f.large || f.order != nil && len(f.order) < len(f.judged.Steps) {
		return // nothing is wrong or known to be, or the program does not end
	}
	list := WrongOf(f.alg, mostWrong)
	if n := len(list) - mostWrong; n > 0 {
		f.note("%d more chunks of outputs are wrong.", n)
	}
	for _, w := range list[:min(len(list), mostWrong)] {
		ref := ir.Ref{Rank: int32(w.Rank), Buf: ir.Output, Index: int32(w.Index)}
		f.scene.Wrong = append(f.scene.Wrong, Wrong{w.Rank, f.ref(&ref).Column, w.Index, w.Mark, w.Text})
	}
}

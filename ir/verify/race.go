package verify

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// A racer looks for pairs of steps of different blocks of a rank of which one
// writes a chunk that the other reads or writes, and which nothing orders: no
// order of steps and no flag. That a message came back from another rank
// orders nothing here.
type racer struct {
	*checker
	w      *ir.Wiring
	mem    *ir.Memory
	clocks ir.Clocks
	base   int // the rank's first cell

	writer []int32 // of a cell: 1 + the step that wrote it last
	reader []int32 // of a cell: 1 + the first node of the list of its readers since
	nodes  []readNode
	free   int32 // 1 + the first unused node
	seen   map[[2]int32]bool
}

type readNode struct{ step, next int32 }

// clockLimit bounds the entries of the clocks of one rank, which are as many
// as its blocks times its waits.
const clockLimit = 1 << 26

// races looks at each rank that has several blocks, its steps in the order of
// a run: a race in any run shows as one there.
func (c *checker) races(w *ir.Wiring, order []int32) {
	if len(c.p.Blocks) <= len(c.p.Rank) && !slices.ContainsFunc(c.p.Rank, func(r ir.Range) bool { return r.End-r.First > 1 }) {
		return
	}
	waited := make([]bool, len(c.p.Steps)) // steps whose flag is waited for
	kept := make([]int, len(c.p.Rank))     // at most so many clocks are kept for a rank
	next := make([]int32, len(c.p.Rank)+1)
	for i := range c.p.Steps {
		b := &c.p.Blocks[w.Block[i]]
		next[b.Rank+1]++
		if on := w.Awaited(c.p, b.Rank, int32(i)); on >= 0 {
			waited[on] = true
			kept[b.Rank]++
		}
	}
	for r := range c.p.Rank {
		next[r+1] += next[r]
	}
	byRank := make([]int32, len(order))
	for _, i := range order {
		r := c.p.Blocks[w.Block[i]].Rank
		byRank[next[r]] = i
		next[r]++
	}
	r := &racer{checker: c, w: w, mem: c.p.Memory(), seen: map[[2]int32]bool{}}
	first := int32(0)
	for rank, own := range c.p.Rank {
		blocks := int(own.End - own.First)
		if clocks := (kept[rank] + blocks) * blocks; clocks > clockLimit {
			c.at(place{rank, -1, -1}, diag.Undecided, -1, "rank %d has %d blocks and %d waits, too many to look for races", rank, blocks, kept[rank])
		} else if blocks > 1 {
			r.rank(rank, byRank[first:next[rank]], waited)
		}
		first = next[rank]
	}
}

func (r *racer) rank(rank int, steps []int32, waited []bool) {
	first, end := r.mem.Rank(rank)
	r.base = first
	r.writer = append(r.writer[:0], make([]int32, end-first)...)
	r.reader = append(r.reader[:0], make([]int32, end-first)...)
	r.nodes, r.free = r.nodes[:0], 0
	own := r.p.Rank[rank]
	r.clocks.Reset(int(own.End - own.First))
	tbs := r.p.TBsOf(rank)
	for _, i := range steps {
		s := &r.p.Steps[i]
		b := int(r.w.Block[i] - own.First)
		if on := r.w.Awaited(r.p, int32(rank), i); on >= 0 {
			r.clocks.Join(b, on)
		}
		if s.Op != ir.Nop {
			r.access(rank, b, i, s)
		}
		r.clocks.End(b, i-tbs[b].Steps.First)
		if waited[i] {
			r.clocks.Keep(b, i)
		}
	}
}

func (r *racer) access(rank, b int, i int32, s *ir.Step) {
	info := s.Op.Info()
	n := int(s.Count)
	if info.ReadsSrc {
		r.read(b, i, r.mem.Cell(rank, s.SrcBuf, int(s.Src))-r.base, n)
	}
	if info.ReadsDst || info.Writes {
		dst := r.mem.Cell(rank, s.DstBuf, int(s.Dst)) - r.base
		if info.ReadsDst {
			r.read(b, i, dst, n)
		}
		if info.Writes {
			r.write(b, i, dst, n)
		}
	}
}

func (r *racer) read(b int, i int32, cell, n int) {
	for k := cell; k < cell+n; k++ {
		r.need(b, i, r.writer[k]-1, "reads", "writes", k)
		if at := r.reader[k]; at != 0 && r.nodes[at-1].step == i {
			continue
		}
		if at := r.free; at != 0 {
			r.free = r.nodes[at-1].next
			r.nodes[at-1] = readNode{i, r.reader[k]}
			r.reader[k] = at
		} else {
			r.nodes = append(r.nodes, readNode{i, r.reader[k]})
			r.reader[k] = int32(len(r.nodes))
		}
	}
}

func (r *racer) write(b int, i int32, cell, n int) {
	for k := cell; k < cell+n; k++ {
		r.need(b, i, r.writer[k]-1, "writes", "writes", k)
		for at := r.reader[k]; at != 0; {
			node := r.nodes[at-1]
			r.need(b, i, node.step, "writes", "reads", k)
			r.nodes[at-1].next, r.free = r.free, at
			at = node.next
		}
		r.reader[k], r.writer[k] = 0, i+1
	}
}

// need reports that nothing orders step i of block b behind step j, where both
// touch a cell. A pair of blocks is reported once.
func (r *racer) need(b int, i, j int32, does, did string, cell int) {
	if j < 0 {
		return
	}
	block := r.w.Block[j]
	other := &r.p.Blocks[block]
	first := r.p.Rank[other.Rank].First
	if int(block-first) == b || r.clocks.Before(int(block-first), j-other.Steps.First, b) {
		return
	}
	pair := [2]int32{r.w.Block[i], block}
	if r.seen[pair] {
		return
	}
	r.seen[pair] = true
	d := r.step(r.w, i, diag.Race, "%s %s %s, and nothing orders it behind %s, which %s it", r.name(r.w, i), does, r.cellName(int(other.Rank), cell), r.name(r.w, j), did)
	r.note(d, j, "this %s it", did)
}

// cellName names a cell of rank as a chunk of a buffer.
func (r *racer) cellName(rank, cell int) string {
	buf, index := r.mem.Chunk(rank, r.base+cell)
	return diag.New("", diag.Span{}, "%v[%d]", buf, index).Text
}

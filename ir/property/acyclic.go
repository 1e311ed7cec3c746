package property

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// checkAcyclic: dependences and matches form no cycle, and where dependences
// have been computed, each conflict between two instructions on a cell of
// memory is one, or follows from several.
func checkAcyclic(d *ir.InstDAG, _ *Options) diag.List {
	var p ir.Problems
	if _, stuck := freeSchedule(d).Run(); len(stuck) > 0 {
		p.Add(deadlock(d, stuck, func(step int32) int32 { return step }))
	} else if len(d.Deps.Start) > 0 {
		newConflicts(d, &p).check()
	}
	return p.Done()
}

// freeSchedule is d as if each instruction had a block of its own, which waits
// for its dependences and for the instruction that sends to it.
func freeSchedule(d *ir.InstDAG) *ir.Schedule {
	n := len(d.Insts)
	s := &ir.Schedule{Start: make([]int32, n+1), Send: make([]int32, n), Recv: make([]int32, n),
		Messages: make([]int32, n)}
	s.Waits.Start = make([]int32, 1, n+1)
	for i := range d.Insts {
		s.Start[i+1], s.Send[i], s.Recv[i] = int32(i+1), -1, -1
		s.Waits.To = append(s.Waits.To, d.Deps.Of(i)...)
		if d.Insts[i].Op.Info().Receives {
			s.Waits.To = append(s.Waits.To, d.Insts[i].RecvMate)
		}
		s.Waits.Start = append(s.Waits.Start, int32(len(s.Waits.To)))
	}
	return s
}

// conflicts walks the instructions in source order and knows, of each cell,
// who wrote it last and who has read it since.
type conflicts struct {
	d *ir.InstDAG
	p *ir.Problems

	cells *ir.Accesses

	mark   []int32 // 1 + the last instruction that has this one as a dependence
	visit  []int32 // the same for paths
	budget int     // nodes that searches for paths may visit
	stack  []int32
}

func newConflicts(d *ir.InstDAG, p *ir.Problems) *conflicts {
	return &conflicts{d: d, p: p, cells: ir.NewAccesses(d.Memory().Len()), mark: make([]int32, len(d.Insts)),
		visit: make([]int32, len(d.Insts)), budget: 64*len(d.Insts) + 1<<20}
}

func (c *conflicts) check() {
	mem := c.d.Memory()
	for _, i := range c.d.BySeq() {
		in := &c.d.Insts[i]
		info := in.Op.Info()
		for _, j := range c.d.Deps.Of(int(i)) {
			c.mark[j] = i + 1
			if c.d.Insts[j].Rank != in.Rank {
				c.p.Add(c.d.Problem(i, diag.Malformed, "%s depends on %s, of another rank", c.d.Label(i), c.d.Label(j)))
			}
		}
		if info.ReadsSrc {
			c.read(i, mem.Cell(int(in.Rank), in.SrcBuf, int(in.Src)))
		}
		dst := 0
		if info.Writes || info.ReadsDst {
			dst = mem.Cell(int(in.Rank), in.DstBuf, int(in.Dst))
		}
		if info.ReadsDst {
			c.read(i, dst)
		}
		if info.Writes {
			c.write(i, dst)
		}
	}
}

func (c *conflicts) read(i int32, cell int) {
	end := cell + int(c.d.Insts[i].Count)
	c.cells.Cut(cell, end-cell)
	for k := cell; k < end; k = c.cells.End(k) {
		c.need(i, c.cells.Writer(k), "reads what", "wrote")
		c.cells.Read(i, k)
	}
}

func (c *conflicts) write(i int32, cell int) {
	end := cell + int(c.d.Insts[i].Count)
	c.cells.Cut(cell, end-cell)
	for k := cell; k < end; k = c.cells.End(k) {
		others := false
		c.cells.Readers(k, func(j int32) {
			if j != i {
				others = true
				c.need(i, j, "overwrites what", "reads")
			}
		})
		if !others {
			c.need(i, c.cells.Writer(k), "overwrites what", "wrote")
		}
	}
	c.cells.Write(i, cell, end-cell)
}

// need reports that i does not depend on j though it must.
func (c *conflicts) need(i, j int32, does, did string) {
	if j < 0 || j == i || c.mark[j] == i+1 || c.path(i, j) {
		return
	}
	c.mark[j] = i + 1 // once
	c.p.Add(c.d.Problem(i, diag.Race, "%s %s %s %s, and does not depend on it", c.d.Label(i), does, c.d.Label(j), did))
}

// path reports whether dependences lead from i to j. Dependences that lead to
// before j in the source order are not followed.
func (c *conflicts) path(i, j int32) bool {
	target := c.d.Insts[j].Seq
	c.stack = append(c.stack[:0], i)
	var seen []int32
	defer func() {
		for _, s := range seen {
			c.visit[s] = 0
		}
	}()
	for len(c.stack) > 0 && c.budget > 0 {
		at := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		for _, k := range c.d.Deps.Of(int(at)) {
			if k == j {
				return true
			}
			if c.visit[k] == 0 && c.d.Insts[k].Seq > target {
				c.visit[k] = 1
				seen = append(seen, k)
				c.stack = append(c.stack, k)
			}
			c.budget--
		}
	}
	return false
}

package verify

import (
	"mscclc/ir"
)

// conflicts finds, among the accesses to some ranks' memory in some order, the
// pairs that must be ordered: a read and the last write before it, a write and
// the last write, and a write and the reads since. If these are, all are.
type conflicts struct {
	mem    *ir.Memory
	need   func(cell int, later, earlier int32, kind kind) // is told of each pair
	writer []int32                                         // of a cell: 1 + the step that wrote it last
	reader []int32                                         // of a cell: 1 + the first node of the list of its readers since
	nodes  []readNode
	free   int32 // 1 + the first unused node
}

type readNode struct{ step, next int32 }

// A kind is what two accesses are, the earlier first.
type kind uint8

const (
	writeRead kind = iota
	writeWrite
	readWrite
)

func (k kind) verbs() (later, earlier string) {
	return [...]string{"reads", "writes", "writes"}[k], [...]string{"writes", "writes", "reads"}[k]
}

// begin turns to the memory of the ranks from first to last. Cells of others
// are not to be accessed.
func (c *conflicts) begin(first, last int) {
	if c.writer == nil {
		c.writer, c.reader = make([]int32, c.mem.Len()), make([]int32, c.mem.Len())
	}
	from, _ := c.mem.Rank(first)
	_, to := c.mem.Rank(last)
	clear(c.writer[from:to])
	clear(c.reader[from:to])
	c.nodes, c.free = c.nodes[:0], 0
}

// access takes the accesses of step i, which is s of rank.
func (c *conflicts) access(rank int, i int32, s *ir.Step) {
	info := s.Op.Info()
	n := int(s.Count)
	if info.ReadsSrc {
		c.read(i, c.mem.Cell(rank, s.SrcBuf, int(s.Src)), n)
	}
	if info.ReadsDst || info.Writes {
		dst := c.mem.Cell(rank, s.DstBuf, int(s.Dst))
		if info.ReadsDst {
			c.read(i, dst, n)
		}
		if info.Writes {
			c.write(i, dst, n)
		}
	}
}

func (c *conflicts) read(i int32, cell, n int) {
	for k := cell; k < cell+n; k++ {
		if c.writer[k] != 0 {
			c.need(k, i, c.writer[k]-1, writeRead)
		}
		if at := c.reader[k]; at != 0 && c.nodes[at-1].step == i {
			continue
		}
		if at := c.free; at != 0 {
			c.free = c.nodes[at-1].next
			c.nodes[at-1] = readNode{i, c.reader[k]}
			c.reader[k] = at
		} else {
			c.nodes = append(c.nodes, readNode{i, c.reader[k]})
			c.reader[k] = int32(len(c.nodes))
		}
	}
}

func (c *conflicts) write(i int32, cell, n int) {
	for k := cell; k < cell+n; k++ {
		if c.writer[k] != 0 {
			c.need(k, i, c.writer[k]-1, writeWrite)
		}
		for at := c.reader[k]; at != 0; {
			node := c.nodes[at-1]
			c.need(k, i, node.step, readWrite)
			c.nodes[at-1].next, c.free = c.free, at
			at = node.next
		}
		c.reader[k], c.writer[k] = 0, i+1
	}
}

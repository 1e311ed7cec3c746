package verify

import (
	"mscclc/ir"
)

// conflicts finds, among the accesses to some ranks' memory in some order, the
// pairs that must be ordered: a read and the last write before it, a write and
// the last write, and a write and the reads since. If these are, all are.
type conflicts struct {
	mem      *ir.Memory
	need     func(cell, n int, later, earlier int32, kind kind) // is told of each pair, for a run of cells
	accesses *ir.Accesses
}

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

// reader returns which of two accesses reads, or -1.
func (k kind) reader(later, earlier int32) int32 { return [...]int32{later, -1, earlier}[k] }

// begin turns to the memory of the ranks from first to last. Cells of others
// are not to be accessed.
func (c *conflicts) begin(first, last int) {
	if c.accesses == nil {
		c.accesses = ir.NewAccesses(c.mem.Len())
	}
	from, _ := c.mem.Rank(first)
	_, to := c.mem.Rank(last)
	c.accesses.Clear(from, to)
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
	a := c.accesses
	a.Cut(cell, n)
	for k, end := cell, cell; k < cell+n; k = end {
		end = a.End(k)
		if writer := a.Writer(k); writer >= 0 {
			c.need(k, end-k, i, writer, writeRead)
		}
		a.Read(i, k)
	}
}

func (c *conflicts) write(i int32, cell, n int) {
	a := c.accesses
	a.Cut(cell, n)
	for k, end := cell, cell; k < cell+n; k = end {
		end = a.End(k)
		if writer := a.Writer(k); writer >= 0 {
			c.need(k, end-k, i, writer, writeWrite)
		}
		if a.HasReader(k) {
			a.Readers(k, func(step int32) { c.need(k, end-k, i, step, readWrite) })
		}
	}
	a.Write(i, cell, n)
}

package checker

import (
	"mscclc/ir"
)

// Conflicts finds, among the accesses to some ranks' memory in some order, the
// pairs that must be ordered: a read and the last write before it, a write and
// the last write, and a write and the reads since. If these are, all are.
type Conflicts struct {
	Mem      *ir.Memory
	Need     func(cell, n int, later, earlier int32, kind Kind) // is called for each pair, for a run of cells
	Accesses *ir.Accesses
}

// A Kind is what two accesses are, the earlier first.
type Kind uint8

const (
	WriteRead Kind = iota
	WriteWrite
	ReadWrite
)

// Verbs returns what the two accesses do.
func (k Kind) Verbs() (later, earlier string) {
	return [...]string{"reads", "writes", "writes"}[k], [...]string{"writes", "writes", "reads"}[k]
}

// Reader returns which of two accesses reads, or -1.
func (k Kind) Reader(later, earlier int32) int32 { return [...]int32{later, -1, earlier}[k] }

// Begin turns to the memory of the ranks from first to last. Cells of others
// are not to be accessed.
func (c *Conflicts) Begin(first, last int) {
	if c.Accesses == nil {
		c.Accesses = ir.NewAccesses(c.Mem.Len())
	}
	from, _ := c.Mem.Rank(first)
	_, to := c.Mem.Rank(last)
	c.Accesses.Clear(from, to)
}

// Access takes the accesses of step i, which is s of rank.
func (c *Conflicts) Access(rank int, i int32, s *ir.Step) {
	info := s.Op.Info()
	n := int(s.Count)
	if info.ReadsSrc {
		c.Read(i, c.Mem.Cell(rank, s.SrcBuf, int(s.Src)), n)
	}
	if info.ReadsDst || info.Writes {
		dst := c.Mem.Cell(rank, s.DstBuf, int(s.Dst))
		if info.ReadsDst {
			c.Read(i, dst, n)
		}
		if info.Writes {
			c.Write(i, dst, n)
		}
	}
}

// Read takes a read of n cells by step i.
func (c *Conflicts) Read(i int32, cell, n int) {
	a := c.Accesses
	a.Cut(cell, n)
	for k, end := cell, cell; k < cell+n; k = end {
		end = a.End(k)
		if writer := a.Writer(k); writer >= 0 {
			c.Need(k, end-k, i, writer, WriteRead)
		}
		a.Read(i, k)
	}
}

// Write takes a write of n cells by step i.
func (c *Conflicts) Write(i int32, cell, n int) {
	a := c.Accesses
	a.Cut(cell, n)
	for k, end := cell, cell; k < cell+n; k = end {
		end = a.End(k)
		if writer := a.Writer(k); writer >= 0 {
			c.Need(k, end-k, i, writer, WriteWrite)
		}
		if a.HasReader(k) {
			a.Readers(k, func(step int32) { c.Need(k, end-k, i, step, ReadWrite) })
		}
	}
	a.Write(i, cell, n)
}

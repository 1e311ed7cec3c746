package eval

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/fifo"
)

// Classify fills in the class of every step of p from what it moves, for
// formats that do not say it, and sets Even to whether chunks of different
// classes meet anywhere. Its error, a diag.List, is a program that does not
// run to its end or whose transfers do not match; p is then left as it was,
// and Even.
func Classify(p *fifo.Program) error {
	p.Even = true
	w, order, err := runAll(p)
	if err != nil {
		return err
	}
	c := classifier{p: p, w: w, mem: p.Memory()}
	c.scratch = NewClasses(p.Coll, c.mem.Len())
	even := false
	for _, i := range order {
		even = c.step(i) || even
	}
	p.Even = even
	return nil
}

// runAll runs p without bounds on slots.
func runAll(p *fifo.Program) (*Wiring, []int32, error) {
	w := Wire(p)
	if len(w.Mismatches) > 0 {
		return nil, nil, diag.List{diag.New(diag.Unmatched, diag.Span{},
			"the sends and receives of %d connections do not match", len(w.Mismatches))}
	}
	order, stuck := w.Schedule(p, ir.Unbounded, 1).Run()
	if len(stuck) > 0 {
		return nil, nil, diag.List{diag.New(diag.Deadlock, diag.Span{}, "the program does not run to its end")}
	}
	return w, order, nil
}

type classifier struct {
	p       *fifo.Program
	w       *Wiring
	mem     *ir.Memory
	scratch *Classes
}

// step gives step i its class and says whether chunks of other classes meet
// in it.
func (c *classifier) step(i int32) (uneven bool) {
	s := &c.p.Steps[i]
	if s.Op == ir.Nop {
		return false
	}
	rank, info := int(c.p.Blocks[c.w.Block[i]].Rank), s.Op.Info()
	switch {
	case info.Receives:
		s.Class = c.p.Steps[c.w.Mate[i]].Class
	default:
		s.Class = c.at(rank, s.SrcBuf, s.Src)
	}
	if info.ReadsSrc && !c.alike(rank, s.SrcBuf, s.Src, s) || info.ReadsDst && !c.alike(rank, s.DstBuf, s.Dst, s) {
		return true
	}
	if info.Writes && s.DstBuf != ir.Scratch {
		return !c.alike(rank, s.DstBuf, s.Dst, s)
	}
	if info.Writes {
		c.scratch.Set(c.mem.Cell(rank, ir.Scratch, int(s.Dst)), int(s.Count), int(s.Class))
	}
	return false
}

// at returns the class of chunk index of a buffer.
func (c *classifier) at(rank int, b ir.Buf, index int32) int32 {
	if b != ir.Scratch {
		return int32(c.p.Coll.Class(int(index)))
	}
	return int32(c.scratch.Of(c.mem.Cell(rank, ir.Scratch, int(index))))
}

// alike reports whether the operand of s at index of b holds chunks of s's classes.
func (c *classifier) alike(rank int, b ir.Buf, index int32, s *ir.Step) bool {
	if b != ir.Scratch {
		return s.Count == 0 || c.at(rank, b, index) == int32(c.p.Coll.Class(int(s.Class)))
	}
	return c.scratch.Alike(c.mem.Cell(rank, b, int(index)), int(s.Count), int(s.Class)) == int(s.Count)
}

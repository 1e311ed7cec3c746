package ir

import "mscclc/ir/diag"

// Classify fills in the class of every step of p from what it moves, for
// formats that do not say it, and sets Even to whether chunks of different
// classes meet anywhere. Its error, a diag.List, is a program that does not
// run to its end or whose transfers do not match; p is then left as it was,
// and Even.
func Classify(p *Program) error {
	p.Even = true
	w, order, err := runAll(p)
	if err != nil {
		return err
	}
	c := classifier{p: p, w: w, mem: p.Memory()}
	c.class = make([]int32, c.mem.Len())
	even := false
	for _, i := range order {
		even = c.step(i) || even
	}
	p.Even = even
	return nil
}

// runAll runs p without bounds on slots.
func runAll(p *Program) (*Wiring, []int32, error) {
	w := Wire(p)
	if len(w.Mismatches) > 0 {
		return nil, nil, diag.List{diag.New(diag.Unmatched, diag.Span{}, "the sends and receives of %d connections do not match", len(w.Mismatches))}
	}
	order, stuck := w.Schedule(p, Unbounded, 1).Run()
	if len(stuck) > 0 {
		return nil, nil, diag.List{diag.New(diag.Deadlock, diag.Span{}, "the program does not run to its end")}
	}
	return w, order, nil
}

type classifier struct {
	p     *Program
	w     *Wiring
	mem   *Memory
	class []int32 // of what a scratch cell holds
}

// step gives step i its class and says whether chunks of other classes meet
// in it.
func (c *classifier) step(i int32) (uneven bool) {
	s := &c.p.Steps[i]
	if s.Op == Nop {
		return false
	}
	rank, info := int(c.p.Blocks[c.w.Block[i]].Rank), s.Op.Info()
	switch {
	case info.Receives:
		s.Class = c.p.Steps[c.w.Mate[i]].Class
	default:
		s.Class = c.at(rank, s.SrcBuf, s.Src)
	}
	for k := range s.Count {
		want := int32(c.p.Coll.Class(int(s.Class + k)))
		if info.ReadsSrc && c.at(rank, s.SrcBuf, s.Src+k) != want || info.ReadsDst && c.at(rank, s.DstBuf, s.Dst+k) != want {
			return true
		}
		if info.Writes && s.DstBuf != Scratch && c.at(rank, s.DstBuf, s.Dst+k) != want {
			return true
		}
	}
	if info.Writes && s.DstBuf == Scratch {
		for k := range s.Count {
			c.class[c.mem.Cell(rank, Scratch, int(s.Dst+k))] = int32(c.p.Coll.Class(int(s.Class + k)))
		}
	}
	return false
}

func (c *classifier) at(rank int, b Buf, index int32) int32 {
	if b != Scratch {
		return int32(c.p.Coll.Class(int(index)))
	}
	return c.class[c.mem.Cell(rank, Scratch, int(index))]
}

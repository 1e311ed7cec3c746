package onesided

import "mscclc/ir"

// Traffic is how much a program signals and moves in one pass.
type Traffic struct {
	Signals int `json:"signals" doc:"flags that are raised in a tile iteration"`
	Packets int `json:"packets" doc:"chunks that are written as packets"`
	Remote  int `json:"remote" doc:"chunks that are read or written at other ranks, packets included"`
}

// Traffic counts what p does. What goes through the switch
// counts once.
func (p *Program) Traffic() (n Traffic) {
	for b := range p.Blocks {
		tb := &p.Blocks[b]
		for i := range p.StepsOf(tb) {
			s := &p.StepsOf(tb)[i]
			srcs, dsts := p.Sources(s), p.Dests(s)
			if s.Op == ir.Signal {
				n.Signals += len(dsts)
			}
			for k := range dsts {
				if dsts[k].Buf == ir.Packets {
					n.Packets += int(s.Count)
				}
			}
			for _, list := range [][]Operand{srcs, dsts} {
				for k := range list {
					if list[k].Rank != tb.Rank && s.Op.Moves() {
						n.Remote += int(s.Count)
					}
				}
			}
		}
	}
	return n
}

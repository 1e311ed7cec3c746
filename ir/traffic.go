package ir

// Traffic is how much a one-sided program signals and moves in one pass.
type Traffic struct {
	Signals int `json:"signals" doc:"flags that are raised in a tile iteration"`
	Packets int `json:"packets" doc:"chunks that are written as packets"`
	Remote  int `json:"remote" doc:"chunks that are read or written at other ranks, packets included"`
}

// Traffic counts what p, which is one-sided, does. What goes through the switch
// counts once.
func (p *Program) Traffic() (n Traffic) {
	for b := range p.Blocks {
		tb := &p.Blocks[b]
		for i := range p.StepsOf(tb) {
			s := &p.StepsOf(tb)[i]
			srcs, dsts := p.OneSided.Sources(s), p.OneSided.Dests(s)
			if s.Op == Signal {
				n.Signals += len(dsts)
			}
			for k := range dsts {
				if dsts[k].Buf == Packets {
					n.Packets += int(s.Count)
				}
			}
			for _, list := range [][]Operand{srcs, dsts} {
				for k := range list {
					if list[k].Rank != tb.Rank && s.Op == Move {
						n.Remote += int(s.Count)
					}
				}
			}
		}
	}
	return n
}

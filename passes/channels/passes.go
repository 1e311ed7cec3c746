package channels

import "mscclc/ir"

// A Pass returns the operations of a thread block of rank as it rewrites them. It may change list, and rely on what the
// passes before it have done.
type Pass struct {
	Name string // also the name of its file
	Doc  string // one line, for the documentation
	Run  func(s *synchroniser, rank int32, list []ir.ChannelOp) []ir.ChannelOp
}

// Table lists the passes of Synchronise in the order in which they run.
var Table = []Pass{
	{Name: "join", Run: (*synchroniser).join,
		Doc: "make one operation of neighbours that one operation can do"},
	{Name: "barriers", Run: (*synchroniser).barriers,
		Doc: "insert the block barriers that the operations need"},
}

// A synchroniser takes one program through Table.
type synchroniser struct {
	p   *ir.ChannelProgram
	mem *ir.Memory
}

// Synchronise makes p, as lang.ExpandLevel returns it, ready to run, in place: each block goes through Table. An
// operation with Unsynced set gets no barrier. p must be well formed.
func Synchronise(p *ir.ChannelProgram) {
	scratch := make([]int32, len(p.Ranks))
	for r := range p.Ranks {
		scratch[r] = p.Ranks[r].Scratch
	}
	s := &synchroniser{p: p, mem: ir.NewMemory(p.Coll, scratch)}
	for r := range p.Ranks {
		for b, list := range p.Ranks[r].Blocks {
			for i := range Table {
				list = Table[i].Run(s, int32(r), list)
			}
			p.Ranks[r].Blocks[b] = list
		}
	}
}

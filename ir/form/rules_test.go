package form_test

import (
	"math"

	"mscclc/codegen/codegentest"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// A rule is one that break breaks, in a good program, and what form says then.
type rule struct {
	name string
	edit func(p *either.Program)
	code diag.Code
	text string
}

// Steps of codegentest.Pairs, all of rank 0: block 0 has send and recv, block 1 copy, and block 2 nop and sum.
const (
	send = iota
	recv
	copied
	nop
	sum
)

// wide makes p one whose buffers have three chunks.
func wide(p *either.Program) *either.Program {
	p.Coll.Chunks, p.Scratch = 3, []int32{3, 3}
	return p
}

// tableRules are those of the tables that any program has.
var tableRules = []rule{
	{"collective", func(p *either.Program) { p.Coll = nil }, diag.Malformed, "the program is of no collective"},
	{"kind", func(p *either.Program) { p.Coll.Kind = ir.NumKinds }, diag.Malformed, "the collective is of no kind"},
	{"root", func(p *either.Program) { p.Coll.Root = 2 }, diag.Malformed, "the root is rank 2 of 2"},
	{"no rank", func(p *either.Program) { p.Coll.Ranks = 0 }, diag.Malformed, "and not 0"},
	{"no chunk", func(p *either.Program) { p.Coll.Chunks = 0 }, diag.Malformed, "and not 0"},
	{"peers", func(p *either.Program) { p.Coll.Peer = []int32{0, 2} }, diag.Malformed, "peer 2 of the collective is none of 2 ranks"},
	{"wanted chunk", func(p *either.Program) {
		p.Coll.Require = map[ir.Part][]ir.Part{{Rank: 0, Index: 0}: {{Rank: 1, Index: 9}}}
	}, diag.Malformed, "a requirement of the collective names a chunk that does not exist"},
	{"protocol", func(p *either.Program) { p.Protocol = ir.NumProtocols }, diag.Malformed, "is none"},
	{"ranks", func(p *either.Program) { p.Rank = p.Rank[:1] }, diag.Malformed, "there are blocks of 1 ranks"},
	{"scratch of a rank", func(p *either.Program) { p.Scratch = p.Scratch[:1] }, diag.Malformed, "scratch of 1, and the collective has 2 ranks"},
	{"negative scratch", func(p *either.Program) { p.Scratch[1] = -1 }, diag.Malformed, "rank 1 has -1 chunks of scratch"},
	{"ranks of a node", func(p *either.Program) { p.RanksPerNode = -1 }, diag.Malformed, "a node has -1 ranks"},
	{"sizes", func(p *either.Program) { p.Sizes = ir.SizeRange{Min: 9, Max: 9} }, diag.Malformed, "no size is from 9 to below 9"},
	{"blocks", func(p *either.Program) { p.Rank[0].End++ }, diag.Malformed, "of rank 0 does not hold the steps from 5"},
	{"backward blocks", func(p *either.Program) { p.Rank[0].End = -1 }, diag.Malformed, "the blocks of rank 0 are not those from 0"},
	{"block's rank", func(p *either.Program) { p.Blocks[0].Rank = 1 }, diag.Malformed, "block 0 of rank 0 does not hold the steps from 0"},
	{"shared steps", func(p *either.Program) { p.Blocks[len(p.Blocks)-1].Steps.First-- }, diag.Malformed, "does not hold the steps from"},
	{"steps", func(p *either.Program) { p.Blocks[len(p.Blocks)-1].Steps.End++ }, diag.Malformed, "does not hold the steps from"},
	{"lost steps", func(p *either.Program) { p.Blocks[len(p.Blocks)-1].Steps.End-- }, diag.Malformed, "some blocks or steps belong to no rank"},
	{"position", func(p *either.Program) { p.Steps[0].Pos = 0 }, diag.Malformed, "is at source position 0 of 0"},
	{"channel of a block", func(p *either.Program) { p.Blocks[0].Channel = 1 }, diag.OutOfBounds, "rank 0 block 0 is on channel 1 of 1"},
}

// twoSidedRules are those of sends and receives.
var twoSidedRules = []rule{
	{"channels", func(p *either.Program) { p.Fifo.Channels = 1<<16 + 1 }, diag.Malformed, "the program has 65537 channels"},
	{"peer of its own", func(p *either.Program) { p.Blocks[0].SendPeer = 0 }, diag.Malformed, "rank 0 block 0 sends to its own rank"},
	{"peer beyond", func(p *either.Program) { p.Blocks[0].RecvPeer = 2 }, diag.OutOfBounds, "rank 0 block 0 receives from rank 2 of 2"},
	{"negative peer", func(p *either.Program) { p.Blocks[1].SendPeer = -2 }, diag.OutOfBounds, "rank 0 block 1 sends to rank -2 of 2"},
	{"two at one end", func(p *either.Program) { p.Blocks[1].SendPeer = 1 }, diag.Malformed, "rank 0 block 1 sends to rank 1 on channel 0, as block 0 does"},
	{"operation", func(p *either.Program) { p.Steps[send].Op = 99 }, diag.Malformed, "(?) is operation 99 with flags 0"},
	{"other side's operation", func(p *either.Program) { p.Steps[send].Op = ir.Move }, diag.Malformed, "(mv) is operation 9 with flags 0"},
	{"flags", func(p *either.Program) { p.Steps[send].Flags = ir.Enter }, diag.Malformed, "(s) is operation 1 with flags 8"},
	{"numbers of operands", func(p *either.Program) { p.Steps[send].NSrc = 1 }, diag.Malformed, "has the operands of a one-sided step"},
	{"no count", func(p *either.Program) { p.Steps[send].Count = 0 }, diag.Malformed, "rank 0 block 0 step 0 (s) moves 0 chunks"},
	{"negative count", func(p *either.Program) { p.Steps[send].Count = -1 }, diag.Malformed, "(s) moves -1 chunks"},
	{"count of a nop", func(p *either.Program) { p.Steps[nop].Count = 1 }, diag.Malformed, "(nop) moves 1 chunks"},
	{"no peer to send to", func(p *either.Program) { p.Blocks[0].SendPeer = -1 }, diag.Malformed, "(s) sends, and its block has no peer to send to"},
	{"no peer to receive from", func(p *either.Program) { p.Blocks[0].RecvPeer = -1 }, diag.Malformed, "(r) receives, and its block has no peer to receive from"},
	{"class", func(p *either.Program) { p.Steps[send].Class = 1 }, diag.Malformed, "(s) begins at class 1 of 1"},
	{"class of a nop", func(p *either.Program) { p.Steps[nop].Class = -1 }, diag.Malformed, "(nop) begins at class -1 of 1"},
	{"operand too many", func(p *either.Program) { p.Steps[send].DstBuf = ir.Output }, diag.Malformed, "(s) has output[0] as its destination, and its operation has none"},
	{"operand of a nop", func(p *either.Program) { p.Steps[nop].Src = 1 }, diag.Malformed, "(nop) has -[1] as its source, and its operation has none"},
	{"no buffer", func(p *either.Program) { p.Steps[send].SrcBuf = ir.NoBuf }, diag.Malformed, "(s) has no buffer as its source"},
	{"buffer of the other side", func(p *either.Program) { p.Steps[recv].DstBuf = ir.Packets }, diag.Malformed, "(r) has no buffer as its destination"},
	{"chunk", func(p *either.Program) { p.Steps[send].Src = 1 }, diag.OutOfBounds, "(s) has input[1]*1 as its source, and input has 1 chunks"},
	{"negative chunk", func(p *either.Program) { p.Steps[recv].Dst = -1 }, diag.OutOfBounds, "(r) has scratch[-1]*1 as its destination, and scratch has 1 chunks"},
	{"far chunk", func(p *either.Program) { p.Steps[send].Src, p.Steps[send].Count = math.MaxInt32, math.MaxInt32 }, diag.OutOfBounds, "and input has 1 chunks"},
	{"scratch of none", func(p *either.Program) { p.Scratch = nil }, diag.OutOfBounds, "and scratch has 0 chunks"},
	{"overlap", func(p *either.Program) {
		s := &wide(p).Steps[copied]
		s.DstBuf, s.Dst, s.Count = ir.Input, 1, 2
	}, diag.Overlap, "(cpy) has a source and a destination that overlap in part"},
	{"overlap in place", func(p *either.Program) {
		s := &wide(p).Steps[copied]
		p.Coll.Inplace = true
		s.Dst, s.Count = 1, 2
	}, diag.Overlap, "(cpy) has a source and a destination that overlap in part"},
	{"step of no block", func(p *either.Program) { p.Steps[send].DepStep = 0 }, diag.Malformed, "(s) waits for step 0 of no block"},
	{"negative block", func(p *either.Program) { p.Steps[send].DepBlock = -2 }, diag.OutOfBounds, "(s) waits for block -2, and its rank has 3"},
	{"block beyond", func(p *either.Program) { p.Steps[sum].DepBlock = 3 }, diag.OutOfBounds, "(re) waits for block 3, and its rank has 3"},
	{"step beyond", func(p *either.Program) { p.Steps[sum].DepStep = 2 }, diag.OutOfBounds, "(re) waits for step 2 of block 0, which has 2"},
	{"nop for nothing", func(p *either.Program) { p.Steps[nop].DepBlock, p.Steps[nop].DepStep = -1, -1 }, diag.Malformed, "(nop) waits for nothing"},
	{"last nop", func(p *either.Program) { p.Steps[nop], p.Steps[sum] = p.Steps[sum], p.Steps[nop] }, diag.Malformed, "(nop) has no step after it that would wait on its behalf"},
	{"chain of waits", func(p *either.Program) { p.Steps[sum].DepBlock, p.Steps[sum].DepStep = -1, -1 }, diag.Malformed, "(re) stands after a nop and waits for nothing itself"},
	{"chain of counts", func(p *either.Program) { twoSums(p).Count = 2 }, diag.Malformed, "(re) moves 2 chunks, and the reduction that it is fused with moves 1"},
	{"chain of its own", func(p *either.Program) {
		s := twoSums(p)
		p.Steps[nop].SrcBuf, s.SrcBuf, s.Src, s.Dst = ir.Output, ir.Output, 0, 0
		p.Steps[nop].Dst = 0
	}, diag.Overlap, "(re) reads chunks that the reductions before it, which it is fused with, write"},
}

// twoSums makes the last two steps of p, with wide buffers, a chain of sums, and returns the second.
func twoSums(p *either.Program) *ir.Step {
	wide(p).Steps[nop] = p.Steps[sum]
	s := &p.Steps[sum]
	s.DepBlock, s.DepStep, s.Src = -1, -1, 1
	return s
}

func pairs() *either.Program { return codegentest.Pairs() }

package form_test

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// Steps of codegentest.Swap: rank 0 has put, fold, all, tell and await, and rank 1 the others.
const (
	put = iota
	fold
	all
	tell
	await
	back
	get
	awaits
	tells
)

// from and to edit the first source and the first destination of a step.
func from(step int, edit func(x *onesided.Operand)) func(*either.Program) {
	return func(p *either.Program) { edit(&p.OneSided.Sources(&p.Steps[step])[0]) }
}

func to(step int, edit func(x *onesided.Operand)) func(*either.Program) {
	return func(p *either.Program) { edit(&p.OneSided.Dests(&p.Steps[step])[0]) }
}

func flagged(step int, flags ir.StepFlags) func(*either.Program) {
	return func(p *either.Program) { p.Steps[step].Flags = flags }
}

// oneSidedRules are those of puts, signals and waits.
var oneSidedRules = []rule{
	{"no depth", func(p *either.Program) { p.OneSided.Depth = 0 }, diag.Malformed, "there are 0 copies of scratch and packets"},
	{"depth", func(p *either.Program) { p.OneSided.Depth = 1025 }, diag.Limit, "there are 1025 copies of scratch and packets, at most 1024 are allowed"},
	{"packets of a rank", func(p *either.Program) { p.OneSided.Packets = p.OneSided.Packets[:1] }, diag.Malformed, "there are packets of 1 ranks"},
	{"flags of a rank", func(p *either.Program) { p.OneSided.Flags = p.OneSided.Flags[:1] }, diag.Malformed, "there are flags of 1 ranks"},
	{"negative packets", func(p *either.Program) { p.OneSided.Packets[0] = -1 }, diag.Malformed, "rank 0 has -1 packets"},
	{"negative flags", func(p *either.Program) { p.OneSided.Flags[1] = -1 }, diag.Malformed, "rank 1 has -1 flags"},
	{"packets of no protocol", func(p *either.Program) { p.Protocol = ir.Simple }, diag.Malformed, "rank 0 has 2 chunks of packets, and Simple has no packets"},
	{"first operand", func(p *either.Program) { p.Steps[put].Src = 1 }, diag.Malformed, "rank 0 block 0 step 0 (mv) does not have the operands from 0 on"},
	{"shared operand", func(p *either.Program) { p.Steps[fold].Src-- }, diag.Malformed, "step 1 (mv) does not have the operands from 2 on"},
	{"destinations apart", func(p *either.Program) { p.Steps[fold].Dst++ }, diag.Malformed, "step 1 (mv) does not have the operands from 2 on"},
	{"negative number", func(p *either.Program) { p.Steps[put].NSrc = -1 }, diag.Malformed, "does not have the operands from 0 on"},
	{"operands beyond", func(p *either.Program) { p.Steps[tells].NDst++ }, diag.Malformed, "does not have the operands from"},
	{"lost operand", func(p *either.Program) { p.OneSided.Operands = append(p.OneSided.Operands, onesided.Operand{}) }, diag.Malformed, "some operands belong to no step"},
	{"peer", func(p *either.Program) { p.Blocks[0].RecvPeer = 1 }, diag.Malformed, "rank 0 block 0 has peers, which one-sided blocks have not"},
	{"replicas of a CTA", func(p *either.Program) { p.Blocks[0].Together = 3 }, diag.Malformed, "rank 0 block 0 has 3 replicas together in a CTA, which may be 2 or 4"},
	{"more replicas of a CTA", func(p *either.Program) { p.Blocks[0].Together = 8 }, diag.Malformed, "has 8 replicas together in a CTA, which may be 2 or 4"},
	{"other replicas of a CTA", func(p *either.Program) { p.Blocks[0].Together, p.Blocks[1].Together = 2, 4 }, diag.Malformed, "rank 1 block 0 has 4 replicas together in a CTA, and another block 2"},
	{"operation", func(p *either.Program) { p.Steps[put].Op = ir.NumOps }, diag.Malformed, "is operation 12 with flags 0"},
	{"other side's operation", func(p *either.Program) { p.Steps[put].Op = ir.Copy }, diag.Malformed, "(cpy) is operation 7 with flags 0"},
	{"flags", flagged(put, ir.HasDep), diag.Malformed, "(mv) is operation 9 with flags 1"},
	{"buffer of the other side", func(p *either.Program) { p.Steps[put].SrcBuf = ir.Input }, diag.Malformed, "has the operands or the wait of a two-sided step"},
	{"wait of the other side", func(p *either.Program) { p.Steps[put].DepBlock = 0 }, diag.Malformed, "has the operands or the wait of a two-sided step"},
	{"step of the other side", func(p *either.Program) { p.Steps[put].DepStep = 0 }, diag.Malformed, "has the operands or the wait of a two-sided step"},
	{"enter of a move", flagged(put, ir.Enter), diag.Malformed, "moves data, which is part of every pass, and is marked enter or leave"},
	{"final signal", flagged(tell, ir.Leave|ir.Final), diag.Malformed, "moves nothing, and is marked final"},
	{"loose", flagged(tell, ir.Leave|ir.Loose), diag.Malformed, "is loose, and launches have many passes"},
	{"relaxed move", flagged(put, ir.Relaxed), diag.Malformed, "moves data, and is marked relaxed"},
	{"both marks", flagged(tell, ir.Leave|ir.Enter), diag.Malformed, "is marked enter and leave"},
	{"no count", func(p *either.Program) { p.Steps[put].Count = 0 }, diag.Malformed, "(mv) moves 0 chunks"},
	{"class", func(p *either.Program) { p.Steps[put].Class = 2 }, diag.Malformed, "(mv) begins at class 2 of 2"},
	{"count of a signal", func(p *either.Program) { p.Steps[tell].Count = 1 }, diag.Malformed, "(signal) moves nothing, and has a count or a class"},
	{"class of an await", func(p *either.Program) { p.Steps[await].Class = 1 }, diag.Malformed, "(wait) moves nothing, and has a count or a class"},
	{"signal that awaits", func(p *either.Program) { p.Steps[tell].Op = ir.Await }, diag.Malformed, "(wait) has 0 sources and 1 destinations"},
	{"await that signals", func(p *either.Program) { p.Steps[await].Op = ir.Signal }, diag.Malformed, "(signal) has 1 sources and 0 destinations"},
	{"rank", to(put, func(x *onesided.Operand) { x.Rank = 2 }), diag.OutOfBounds, "has a destination on rank 2 of 2"},
	{"negative rank", from(put, func(x *onesided.Operand) { x.Rank = -2 }), diag.OutOfBounds, "has a source on rank -2 of 2"},
	{"way", to(put, func(x *onesided.Operand) { x.Via = ir.ViaSwitch + 1 }), diag.Malformed, "has a destination by way 4"},
	{"flag of a move", to(put, func(x *onesided.Operand) { x.Buf = ir.Flags }), diag.Malformed, "(mv) has flags as its destination"},
	{"data of a signal", to(tell, func(x *onesided.Operand) { x.Buf = ir.Output }), diag.Malformed, "(signal) has output as its destination"},
	{"no buffer", from(put, func(x *onesided.Operand) { x.Buf = ir.Flags + 1 }), diag.Malformed, "has no buffer as its source"},
	{"packets of all", to(all, func(x *onesided.Operand) { x.Buf, x.Index = ir.Packets, 0 }), diag.Malformed, "has packets of all ranks as its destination"},
	{"all ranks in memory", from(all, func(x *onesided.Operand) { x.Via = ir.ViaAny }), diag.Malformed, "has a source of all ranks that does not go through the switch"},
	{"switch for one", from(put, func(x *onesided.Operand) { x.Via = ir.ViaSwitch }), diag.Malformed, "has a source by way of switch, and the switch is for what all ranks have"},
	{"way of a signal", to(tell, func(x *onesided.Operand) { x.Via = ir.ViaPort }), diag.Malformed, "has a destination by way of port, and only data goes a way"},
	{"packets of another", from(fold, func(x *onesided.Operand) { x.Rank = 1 }), diag.Malformed, "has packets of rank 1 as its source, and waits for its own only"},
	{"await of another's flag", from(await, func(x *onesided.Operand) { x.Rank = 1 }), diag.Malformed, "has flags of rank 1 as its source, and waits for its own only"},
	{"times of a move", to(put, func(x *onesided.Operand) { x.Nth = 1 }), diag.Malformed, "counts to 1 at a destination that is not awaited"},
	{"chunk", from(put, func(x *onesided.Operand) { x.Index = 2 }), diag.OutOfBounds, "has input[2]*1 of rank 0 as its source, and that has 2"},
	{"negative chunk", from(put, func(x *onesided.Operand) { x.Index = -1 }), diag.OutOfBounds, "has input[-1]*1 of rank 0 as its source, and that has 2"},
	{"flag", to(tell, func(x *onesided.Operand) { x.Index = 2 }), diag.OutOfBounds, "has flags[2]*1 of rank 1 as its destination, and that has 2"},
	{"chunk of all", from(all, func(x *onesided.Operand) { x.Buf = ir.Scratch }), diag.OutOfBounds, "has scratch[1]*1 of rank 0 as its source, and that has 1"},
	{"joint first", flagged(put, ir.Joint), diag.Malformed, "is joint, and no step stands before it"},
	{"joint with other passes", flagged(tell, ir.Leave|ir.Joint), diag.Malformed, "is joint with a step that runs in other passes"},
	{"half a loose block", func(p *either.Program) { p.OneSided.OnePass, p.Steps[tell].Flags = true, ir.Leave|ir.Loose }, diag.Malformed, "is loose, and the first of its block is not"},
	{"destination twice", func(p *either.Program) {
		dsts := p.OneSided.Dests(&p.Steps[fold])
		dsts[1] = dsts[0]
	}, diag.Overlap, "step 1 (mv) has two destinations, or flags, that overlap"},
	{"overlap in part", func(p *either.Program) {
		p.Coll.Chunks, p.Steps[get].Count = 3, 2
		x := &p.OneSided.Sources(&p.Steps[get])[0]
		x.Rank, x.Index = 1, 1
	}, diag.Overlap, "step 1 (mv) has a source and a destination that overlap in part"},
	{"flag twice", func(p *either.Program) {
		dsts := p.OneSided.Dests(&p.Steps[tells])
		dsts[1] = dsts[0]
	}, diag.Overlap, "(signal) has two destinations, or flags, that overlap"},
	{"flag of two blocks", func(p *either.Program) { p.OneSided.Dests(&p.Steps[tells])[1].Index = 0 }, diag.Malformed,
		"rank 1 block 0 step 3 (signal) signals flags[0] of rank 1, as another block does"},
	{"marks of a flag", flagged(tells, 0), diag.Malformed, "rank 0 block 0 step 4 (wait) awaits flags[0] of rank 0 in each pass or in each launch, and other steps do not"},
}

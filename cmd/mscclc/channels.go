package main

import (
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/ir"
	"mscclc/ir/verify"
	"mscclc/passes"
)

// mostTurns is how many turns of a plan's loops are run at most: of a larger size each turn has more bytes.
const mostTurns = 8

// judgeChannels proves a plan of MSCCL++, and notes what its executor would do wrong with it.
func (d *verdict) judgeChannels(s *source, read codegen.ReadOptions, check verify.Options) (*ir.Program, error) {
	_, p, err := codegen.ReadMSCCLPP(s.name, s, read)
	if err != nil {
		return nil, err
	}
	g, report, found := passes.CheckChannels(p, check)
	d.judged, d.warned = report, codegen.FaultsMSCCLPP(p)
	if passes.Turns(p, 1<<62) > 1 {
		d.note = "loops are proven for 1, 2 and 3 turns; mscclc run proves as many as it has"
	}
	return g, found.Err()
}

// runChannels reads a plan of MSCCL++, and proves it as calls of so many bytes run it; 0 is any.
func runChannels(s *source, read codegen.ReadOptions, check verify.Options, f *runFlags) (*ir.Program, error) {
	_, p, err := codegen.ReadMSCCLPP(s.name, s, read)
	if err != nil {
		return nil, err
	}
	turns := 1
	if f.size > 0 {
		turns = min(mostTurns, passes.Turns(p, f.size/int64(max(p.Coll.Divisor(), 1))))
	}
	if f.unproven {
		return passes.Unroll(p, turns)
	}
	g, _, found := passes.CheckTurns(p, turns, check)
	return g, found.Err()
}

// tileFor is how long the tile of a program is to be whose launches have one pass, for calls of so many bytes; 0 is the usual.
func tileFor(p *ir.Program, bytes int64) int64 {
	if p.OneSided == nil || !p.OneSided.OnePass {
		return 0
	}
	chunk := bytes/int64(max(p.Coll.Divisor(), 1)) + 1
	return max(executor.DefaultTileBytes, chunk/executor.DefaultMaxColumns+256)
}

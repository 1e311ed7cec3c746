package text

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/either"
)

// BareChunks returns d without source positions, which its text form then leaves out. It shares the rest with d.
func BareChunks(d *ir.ChunkDAG) *ir.ChunkDAG {
	bare := *d
	bare.Spans, bare.Ops = nil, slices.Clone(d.Ops)
	for i := range bare.Ops {
		bare.Ops[i].Pos = -1
	}
	return &bare
}

// BareInsts returns d without source positions, which its text form then leaves out. It shares the rest with d.
func BareInsts(d *ir.InstDAG) *ir.InstDAG {
	bare := *d
	bare.Spans, bare.Insts = nil, slices.Clone(d.Insts)
	for i := range bare.Insts {
		bare.Insts[i].Pos = -1
	}
	return &bare
}

// BareProgram returns p without source positions, which its text form then leaves out. It shares the rest with p.
func BareProgram(p *either.Program) *either.Program {
	bare := p.Copy()
	bare.Spans, bare.Steps = nil, slices.Clone(p.Steps)
	for i := range bare.Steps {
		bare.Steps[i].Pos = -1
	}
	return bare
}

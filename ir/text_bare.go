package ir

import "slices"

// Bare returns d without source positions, which its text form then leaves out. It shares the rest with d.
func (d *ChunkDAG) Bare() *ChunkDAG {
	bare := *d
	bare.Spans, bare.Ops = nil, slices.Clone(d.Ops)
	for i := range bare.Ops {
		bare.Ops[i].Pos = -1
	}
	return &bare
}

// Bare returns d without source positions, which its text form then leaves out. It shares the rest with d.
func (d *InstDAG) Bare() *InstDAG {
	bare := *d
	bare.Spans, bare.Insts = nil, slices.Clone(d.Insts)
	for i := range bare.Insts {
		bare.Insts[i].Pos = -1
	}
	return &bare
}

// Bare returns p without source positions, which its text form then leaves out. It shares the rest with p.
func (p *Program) Bare() *Program {
	bare := *p
	bare.Spans, bare.Steps = nil, slices.Clone(p.Steps)
	for i := range bare.Steps {
		bare.Steps[i].Pos = -1
	}
	return &bare
}

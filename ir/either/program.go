// Package either holds the type of programs that are two-sided or one-sided. Packages that accept both kinds use it,
// such as file formats, the proof, devices and simulations.
package either

import (
	"mscclc/ir"
	"mscclc/ir/fifo"
	"mscclc/ir/onesided"
)

// A Program is a two-sided or a one-sided program: one of Fifo and OneSided is nil. OfFifo and OfOneSided make it.
type Program struct {
	*ir.Program // the tables of the one that is not nil
	Fifo        *fifo.Program
	OneSided    *onesided.Program
}

// OfFifo returns p, or nil where p is nil.
func OfFifo(p *fifo.Program) *Program {
	if p == nil {
		return nil
	}
	return &Program{Program: &p.Program, Fifo: p}
}

// OfOneSided returns p, or nil where p is nil.
func OfOneSided(p *onesided.Program) *Program {
	if p == nil {
		return nil
	}
	return &Program{Program: &p.Program, OneSided: p}
}

// Copy returns a copy of p, whose fields may be set. It shares what they refer to.
func (p *Program) Copy() *Program {
	if p.OneSided != nil {
		q := *p.OneSided
		return OfOneSided(&q)
	}
	q := *p.Fifo
	return OfFifo(&q)
}

// Memory lays out the cells of p, one copy of what rotates.
func (p *Program) Memory() *ir.Memory {
	if p.OneSided != nil {
		return p.OneSided.Memory()
	}
	return p.Fifo.Memory()
}

// Called returns p, which it shares all else with, as calls in place, or out of place, see it.
func (p *Program) Called(inplace bool) *Program {
	q := p.Copy()
	q.Coll = p.Coll.Called(inplace)
	return q
}

// ModifiesInput reports whether some step writes a chunk of input that is not output too. What lang makes never does;
// files from elsewhere may.
func (p *Program) ModifiesInput() bool {
	if p.OneSided != nil {
		return p.OneSided.ModifiesInput()
	}
	return p.Fifo.ModifiesInput()
}

// Staged reports whether p is one-sided, and no Move reaches input or output of another rank, as onesided.Program has
// it.
func (p *Program) Staged() bool { return p.OneSided != nil && p.OneSided.Staged() }

// Channels returns how many channels p has: a one-sided program has 1, which files and keys name.
func (p *Program) Channels() int {
	if p.OneSided != nil {
		return 1
	}
	return p.Fifo.Channels
}

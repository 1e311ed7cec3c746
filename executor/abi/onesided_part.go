package abi

import (
	"slices"
	"unsafe"
)

// A OnePart is what one device has of a one-sided program: the blocks of its
// ranks, with their steps and operands.
type OnePart struct {
	Blocks   []OneBlock
	Steps    []OneStep
	Operands []OneOperand
}

// Part gives the blocks of some ranks.
func (o *OneImage) Part(has func(rank int) bool) *OnePart {
	part := &OnePart{}
	for _, b := range o.Blocks {
		if !has(int(b.Rank)) {
			continue
		}
		steps, operands := o.Steps[b.FirstStep:b.FirstStep+b.Steps], o.Operands[b.FirstOperand:b.FirstOperand+b.Operands]
		b.FirstStep, b.FirstOperand = uint32(len(part.Steps)), uint32(len(part.Operands))
		part.Blocks = append(part.Blocks, b)
		part.Steps = append(part.Steps, steps...)
		part.Operands = append(part.Operands, operands...)
	}
	return part
}

// Ports reports whether some step asks for a port.
func (t *OnePart) Ports() bool {
	return slices.ContainsFunc(t.Steps, func(s OneStep) bool { return s.Flags&onePort != 0 })
}

// Together returns how many replicas share a CTA, of the blocks that the bits mark as Net.Narrow has them; 1 of none.
func (t *OnePart) Together() (together int, bits [NetNarrow]uint32) {
	together = 1
	for i := range t.Blocks[:min(len(t.Blocks), 32*NetNarrow)] {
		if n := t.Blocks[i].Together; n > 1 {
			together = int(n)
			bits[i/32] |= 1 << (i % 32)
		}
	}
	return together, bits
}

// CTAs returns how many CTAs a launch of `replicas` replicas has that do something, if replicas share them.
func (t *OnePart) CTAs(replicas int) (n int) {
	together, bits := t.Together()
	for i := range t.Blocks {
		if i < 32*NetNarrow && bits[i/32]>>(i%32)&1 != 0 {
			n += (replicas + together - 1) / together
		} else {
			n += replicas
		}
	}
	return n
}

// Count puts the counts of the part's tables into a launch, which is to have their
// addresses too.
func (t *OnePart) Count(p *OneParams) {
	p.BlockCount, p.StepCount, p.OperandCount = uint32(len(t.Blocks)), uint32(len(t.Steps)), uint32(len(t.Operands))
	p.Inlined = 0
}

// Into puts the part into a launch: the counts of its tables, and where there is room
// the tables too. If it returns false, their addresses are yet to be filled in.
func (t *OnePart) Into(p *OneParams) bool {
	t.Count(p)
	if 2*len(t.Blocks)+len(t.Steps)+len(t.Operands) > OneCode {
		return false
	}
	p.Inlined = 1
	at := copy(p.Code[:], words(t.Blocks))
	at += copy(p.Code[at:], words(t.Steps))
	copy(p.Code[at:], words(t.Operands))
	return true
}

// words returns the rows of a table as the kernel counts its code.
func words[T any](rows []T) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(rows))), len(rows)*int(unsafe.Sizeof(*new(T)))/4)
}

package mscclc

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/passes/slots"
)

// Lower returns a one-sided program that does what p does, a two-sided program of protocol Simple: each connection
// becomes slots of scratch and two flags. slotCount is how many messages a connection holds; 0 is what the protocol
// has. Its ranks reach only scratch and flags of other ranks, so calls may use any buffers, and it runs in replicas.
// Messages about it name the steps and lines of p. It is proven if p is, with messages that hold what a step sends:
// Lower proves nothing, and executor.Options.Lower trusts it. The error is a diag.List, of a program of another
// protocol, of one that is one-sided already, and of one whose sends and waits do not match.
func Lower(p *either.Program, slotCount int) (*either.Program, error) {
	if p.Fifo == nil {
		return nil, diag.List{diag.New(diag.Unsupported, p.Declaration, "the program is one-sided already")}
	}
	g, err := slots.Lower(p.Fifo, slots.Options{Slots: slotCount})
	return either.OfOneSided(g), err
}

// lowered is twoSided, lowered.
func lowered(chunks *ir.ChunkDAG, opt *Options, stage func(value any) error) (*either.Program, error) {
	marked := *opt
	marked.Unproven = true // which sets the Final flags
	p, err := twoSided(chunks, &marked, stage)
	if err != nil {
		return nil, err
	}
	return Lower(p, opt.Check.Slots)
}

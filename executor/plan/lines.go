package plan

import (
	"fmt"

	"mscclc/executor"
)

// This file says on which GPUs packets may be lines of 128 bytes. Who waits for a line looks at its last word only. So
// all of a line must arrive at once, as it does over NVLink. Over PCIe some words may arrive before others: NCCL has
// LL128 for NVLink only.

// A linker is a GPU that says of the GPU with a PCI address whether its lines arrive at once in memory there, and
// whether it reaches no memory there.
type linker interface {
	PCI() string
	WholeLines(address string) bool
	Apart(address string) bool
}

// linked returns a GPU of this process and a rank of its node of whose GPU `is` says true. found says whether some are.
func (p *Plan) linked(is func(g linker, card string) bool) (s *seat, rank int, found bool) {
	for _, s := range p.seats {
		g, ok := s.gpu.(linker)
		for r, card := range p.card {
			if ok && p.nodes.of[r] == p.nodes.of[s.ranks[0]] && is(g, card) {
				return s, r, true
			}
		}
	}
	return nil, 0, false
}

// cards returns the PCI address of the GPU of each rank of this process, or "" where it has none.
func (p *Plan) cards() []string {
	list := make([]string, len(p.ranks))
	for i, r := range p.ranks {
		if s := p.of[r]; s != nil {
			if g, ok := s.gpu.(linker); ok {
				list[i] = g.PCI()
			}
		}
	}
	return list
}

// checkLines returns an error if the program sends lines, and those of a rank of this process do not arrive at once.
func (p *Plan) checkLines() error {
	protocol := p.program().Protocol
	if !protocol.Row().Lines {
		return nil
	}
	if p.hosted {
		return fmt.Errorf("protocol %v needs NVLink, and GPUs do not access each other's memory: %w", protocol,
			executor.ErrNoDevice)
	}
	if s, r, found := p.linked(func(g linker, card string) bool { return !g.WholeLines(card) }); found {
		return fmt.Errorf("protocol %v needs NVLink between %v and the GPU of rank %d: over PCIe, a line of 128 "+
			"bytes arrives in parts: %w", protocol, s.gpu, r, executor.ErrNoDevice)
	}
	return nil
}

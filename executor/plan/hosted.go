package plan

import (
	"context"
	"fmt"
	"slices"

	"mscclc/executor"
	"mscclc/executor/exchange"
)

// This file is where arenas are. GPUs of one node may not be able to access each other's memory: on machines without
// NVLink whose PCIe switches or IOMMU keep them apart. Then all arenas are memory of the host, which all GPUs access.
// Ranks of staged programs access nothing else of each other. Who reads its arena polls over PCIe.

// placeArenas decides where arenas are. All processes call it, and decide alike.
func (p *Plan) placeArenas(ctx context.Context) error {
	_, _, apart := p.linked(linker.Apart)
	all, err := exchange.Agree(ctx, p.x, apart, nil)
	p.hosted = slices.Contains(all, true)
	switch {
	case err != nil || !p.hosted:
		return err
	case p.net != nil:
		return fmt.Errorf("GPUs of one node do not access each other's memory, and plans of several nodes need that: %w",
			executor.ErrNoDevice)
	case len(p.kind.shares()) > 0:
		return fmt.Errorf("GPUs do not access each other's memory, and the program accesses %v of other ranks, which a "+
			"staged one does not: %w", p.kind.shares()[0], executor.ErrNoDevice)
	}
	return nil
}

// newArena makes an arena of a seat.
func (p *Plan) newArena(s *seat, bytes int64) (uint64, error) {
	if p.hosted {
		return s.gpu.AllocNet(bytes)
	}
	return s.gpu.Alloc(bytes)
}

// clearArena zeroes an arena. Nothing uses it.
func (p *Plan) clearArena(s *seat, address uint64, bytes int64) error {
	if p.hosted {
		return s.gpu.ZeroNet(address, bytes)
	}
	return s.stream.Fill(address, 0, bytes)
}

func (p *Plan) freeArena(s *seat, address uint64) error {
	if p.hosted {
		return s.gpu.FreeNet(address)
	}
	return s.gpu.Free(address)
}

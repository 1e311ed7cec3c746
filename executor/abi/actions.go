package abi

import "mscclc/ir"

// Numbers returns the numbers of all blocks, in order.
func (img *Image) Numbers() []uint32 {
	list := make([]uint32, len(img.Blocks))
	for i := range list {
		list[i] = uint32(i)
	}
	return list
}

// Actions returns the actions of some blocks in the first `tiles` tile iterations of a launch with the numbers p, block
// by block in order. Those of blocks[i] are list[first[i]:first[i+1]].
func (img *Image) Actions(p *Params, blocks []uint32, tiles int64) (list []Action, first []uint64) {
	for _, b := range blocks {
		first = append(first, uint64(len(list)))
		for tile := range uint32(tiles) {
			list = img.tile(list, p, &img.Blocks[b], tile)
		}
	}
	return list, append(first, uint64(len(list)))
}

// tile appends the actions of a block in one tile iteration.
func (img *Image) tile(list []Action, p *Params, b *Block, tile uint32) []Action {
	group := p.group(uint64(tile) * p.Tile)
	steps := img.Steps[b.FirstStep : b.FirstStep+b.Steps]
	for i := uint32(0); i < b.Steps; i += steps[i].Chain {
		messages := uint32(1)
		if info := ir.Op(steps[i].Op).Info(); (info.Sends || info.Receives) && steps[i].Count > 0 {
			messages = (steps[i].Count + group - 1) / group
		}
		for m := range messages {
			list = append(list, Action{Step: i, Message: m, Tile: tile})
		}
	}
	return list
}

// group returns how many chunks a message holds in the tile iteration that begins at an element of the chunk, as
// kernels/abi/layout.h computes it.
func (p *Params) group(at uint64) uint32 {
	bytes := min(p.Tile, min(p.Chunk, p.Elems)-at) * uint64(p.ElemSize)
	return uint32(min(max(p.SlotBytes/bytes, 1), ir.MaxMessageChunks))
}

// Tiles returns how many tile iterations a launch has: 0 for no elements.
func (p *Params) Tiles() int64 {
	if p.Elems == 0 {
		return 0
	}
	return int64((min(p.Chunk, p.Elems) + p.Tile - 1) / p.Tile)
}

// Actions returns the actions of a launch of one replica and `passes` passes: each step in each pass in which it runs,
// block by block. Those of block b are list[first[b]:first[b+1]].
func (o *OneImage) Actions(passes uint64) (list []Action, first []uint64) {
	for b := range o.Blocks {
		first = append(first, uint64(len(list)))
		steps := o.Steps[o.Blocks[b].FirstStep:][:o.Blocks[b].Steps]
		for pass := range passes {
			for i := range steps {
				flags := ir.StepFlags(steps[i].Flags)
				if pass > 0 && flags&ir.Enter != 0 || pass+1 < passes && flags&ir.Leave != 0 {
					continue
				}
				list = append(list, Action{Step: uint32(i), Tile: uint32(pass)})
			}
		}
	}
	return list, append(first, uint64(len(list)))
}

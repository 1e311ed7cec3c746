package channels

import (
	"math"
	"math/big"

	"mscclc/ir"
)

// leastLoop returns the loop of p that has the fewest bytes of a chunk in a turn, or nil. It passes by what is no good
// loop.
func leastLoop(p *ir.ChannelProgram) (least *ir.ChannelOp) {
	for r := range p.Ranks {
		for _, ops := range p.Ranks[r].Blocks {
			for i := range ops {
				if o := &ops[i]; o.Kind == ir.ChLoop && o.Unit > 0 && o.Chunks > 0 &&
					(least == nil || perChunk(o).Cmp(perChunk(least)) < 0) {
					least = o
				}
			}
		}
	}
	return least
}

// perChunk returns how many bytes of a chunk are one turn of a loop.
func perChunk(o *ir.ChannelOp) *big.Rat { return big.NewRat(o.Unit, int64(o.Chunks)) }

// turnsOf returns how many turns a loop does where the one of the fewest bytes does u.turns.
func (u *unroller) turnsOf(o *ir.ChannelOp) int32 {
	chunk := new(big.Rat).Mul(perChunk(u.least), big.NewRat(int64(u.turns), 1))
	return int32(ceil(chunk.Quo(chunk, perChunk(o))))
}

// Turns returns how many turns the loop of p that has the fewest bytes a turn does where a chunk has a number of bytes;
// 1 where p has no loop.
func Turns(p *ir.ChannelProgram, chunkBytes int64) int {
	least := leastLoop(p)
	if least == nil || chunkBytes < 1 {
		return 1
	}
	return ceil(new(big.Rat).Quo(big.NewRat(chunkBytes, 1), perChunk(least)))
}

// ceil returns the least number that is not below x, from 1 to the largest int32.
func ceil(x *big.Rat) int {
	n := new(big.Int).Add(x.Num(), new(big.Int).Sub(x.Denom(), big.NewInt(1)))
	n.Quo(n, x.Denom())
	if !n.IsInt64() {
		return math.MaxInt32
	}
	return int(max(1, min(n.Int64(), math.MaxInt32)))
}

// Bounds of what is unrolled to be run.
const (
	runSteps = 1 << 17
	runCells = 1 << 20 // of all ranks' buffers, as parts
)

// Bounded returns a number of turns, halved until the program that they make is not too large to run.
func Bounded(p *ir.ChannelProgram, turns int) int {
	for ; turns > 1; turns /= 2 {
		if turns > maxParts {
			continue
		}
		u := &unroller{p: p, turns: turns, least: leastLoop(p)}
		u.check()
		if len(u.found) > 0 { // in any number of turns
			return 1
		}
		if cells := u.divide(); len(u.found) == 0 && cells <= runCells && u.operations() <= runSteps {
			return turns
		}
	}
	return 1
}

// operations counts those of all blocks, in all turns.
func (u *unroller) operations() (n int64) {
	for r := range u.p.Ranks {
		for _, ops := range u.p.Ranks[r].Blocks {
			for i := range ops {
				if n++; ops[i].Kind == ir.ChLoop {
					n += int64(u.turnsOf(&ops[i])) * int64(len(ops[i].Body))
				}
			}
		}
	}
	return n
}

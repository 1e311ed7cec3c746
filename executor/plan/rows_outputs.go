package plan

import (
	"fmt"
	"slices"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/epilogue"
)

// This file is how ranks of a program with an epilogue write rows to other ranks' output: they also reach what the
// stages write there, updated residuals and scales.

// checkOutputs reports why GPUs cannot run the epilogue of a program. A GPU finishes a row once, with what its own rank
// has for the stages. So its own output gets the row, and others get it in the same place.
func checkOutputs(img *abi.Image) error {
	if len(img.Program.Then) == 0 {
		return nil
	}
	if img.One.Port {
		return fmt.Errorf("a program with an epilogue whose copies a port makes: %w", executor.ErrNotSupported)
	}
	one := img.One
	for _, b := range one.Blocks {
		for _, s := range one.Steps[b.FirstStep : b.FirstStep+b.Steps] {
			if of := one.Operands[b.FirstOperand+s.First:]; ir.Op(s.Op).Moves() {
				if err := checkFinish(b.Rank, of[:s.Srcs], of[s.Srcs:s.Srcs+s.Dsts]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkFinish is checkOutputs of a Move of a rank. One that copies finished rows may copy them anywhere.
func checkFinish(rank uint32, sources, dests []abi.OneOperand) error {
	if len(sources) > 0 && ir.Buf(sources[0].Buf) == ir.Output {
		return nil
	}
	var outputs []abi.OneOperand
	for _, o := range dests {
		if ir.Buf(o.Buf) == ir.Output {
			outputs = append(outputs, o)
		}
	}
	own := slices.IndexFunc(outputs, func(o abi.OneOperand) bool { return o.Rank == int16(rank) })
	switch {
	case len(outputs) == 0:
		return nil
	case own < 0:
		return fmt.Errorf("rank %d finishes rows of another rank's output alone, and a GPU finishes rows that its own "+
			"output gets: %w", rank, executor.ErrNotSupported)
	}
	for i, o := range outputs {
		if o.A != outputs[own].A || o.B != outputs[own].B || i != own && o.Rank == outputs[own].Rank {
			return fmt.Errorf("rank %d finishes a row for two places of outputs, and a GPU does for one: %w", rank,
				executor.ErrNotSupported)
		}
	}
	return nil
}

// companions returns what stages write beside the output, where ranks reach each other's output.
func (c *Call) companions(args *CallArgs, geo data.Geometry) (list []common) {
	p := c.plan
	if c.rows == nil || !slices.Contains(p.kind.shares(), ir.Output) {
		return nil
	}
	for _, s := range p.seats {
		c.elsewhere[s] = make([]abi.RowMemory, p.program().Coll.Ranks)
	}
	for i, stage := range p.program().Then {
		is := stage.Row().Writes
		if is == epilogue.Nothing {
			continue
		}
		list = append(list, common{ir.Output, func(rank int) int64 {
			_, out, _, _, _ := geo.Buffers(rank)
			bytes, _ := c.rows.Operand(is, out, c.dtype)
			return bytes
		}, func(rank int) uint64 { return args.Rows.Memory[slices.Index(p.ranks, rank)].Second[i] },
			func(s *seat, rank int, address uint64) { c.elsewhere[s][rank].Second[i] = address }})
	}
	return list
}

// rowTable reports whether a launch of a seat has the memory of several ranks for stages.
func (p *oneSided) rowTable(s *seat) bool {
	return len(p.program().Then) > 0 &&
		(len(s.ranks) > 1 || slices.Contains(touches(s.one, p.program().Coll.Ranks, s.ranks)[ir.Output], true))
}

// ranksOfRows returns the memory of the ranks that a seat's launch reaches, by rank, where it has that of several, and
// else puts that of its rank into rows.
func (c *Call) ranksOfRows(s *seat, args *CallArgs, rows *abi.Rows, table bool) []abi.RowMemory {
	p := c.plan
	of := func(r int) abi.RowMemory { return args.Rows.Memory[slices.Index(p.ranks, r)] }
	if !table {
		rows.Rank, rows.FirstRank = of(s.ranks[0]), uint32(s.ranks[0])
		return nil
	}
	list := make([]abi.RowMemory, p.program().Coll.Ranks)
	copy(list, c.elsewhere[s])
	for _, r := range s.ranks {
		list[r] = of(r)
	}
	return list
}

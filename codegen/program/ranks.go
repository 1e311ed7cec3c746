package program

import (
	"hash/crc32"

	"mscclc/ir"
)

// A planRow is a rank's row of the table of ranks.
type planRow struct {
	at                                int64
	blocks, steps                     uint32
	scratch, in, out, inOut, outInPos int32
	sum                               uint32
	packets, flags                    int32  // one-sided
	operands                          uint32 // one-sided
}

func (d *reader) row(b []byte, rank int) planRow {
	o := b[rank*d.rowSize:]
	u := func(at int) uint32 { return le.Uint32(o[at:]) }
	row := planRow{at: int64(le.Uint64(o)), blocks: u(8), steps: u(12), scratch: int32(u(16)), in: int32(u(20)),
		out: int32(u(24)), inOut: int32(u(28)), outInPos: int32(u(32)), sum: u(36)}
	if d.p.OneSided != nil {
		row.packets, row.flags, row.operands = int32(u(40)), int32(u(44)), u(48)
	}
	return row
}

// ranks reads the table of ranks and their parts.
func (d *reader) ranks() error {
	table, err := d.section(secRanks)
	if err != nil {
		return err
	}
	p := d.p
	p.Steps = make([]ir.Step, 0, d.len[secParts]/planStepSize) // the section bounds what all parts can hold
	end := d.at[secParts]
	for r := range p.Rank {
		row := d.row(table, r)
		if p.OneSided != nil && le.Uint32(table[r*d.rowSize+52:]) != 0 {
			return d.fail("the row of rank %d ends in no zero", r)
		}
		size := int64(row.blocks)*planBlockSize + int64(row.steps)*planStepSize + int64(row.operands)*planOperandSize
		if row.at != end || size > d.at[secParts]+d.len[secParts]-end {
			return d.fail("the part of rank %d is out of place", r)
		}
		end += (size + 7) &^ 7
		if err := d.padding(row.at+size, end-row.at-size); err != nil {
			return err
		}
		p.Scratch[r] = row.scratch
		if o := p.OneSided; o != nil {
			o.Packets[r], o.Flags[r] = row.packets, row.flags
		}
		if p.Coll.PerRank != nil {
			p.Coll.PerRank[r] = [2]int32{row.in, row.out}
		}
		p.Rank[r].First = int32(len(p.Blocks))
		if err := d.part(r, &row, size); err != nil {
			return err
		}
		p.Rank[r].End = int32(len(p.Blocks))
	}
	if end != d.at[secParts]+d.len[secParts] {
		return d.fail("the parts of the plan do not fill their section")
	}
	return nil
}

// part reads the blocks and steps of rank, size bytes in all.
func (d *reader) part(rank int, row *planRow, size int64) error {
	b, err := d.bytes(row.at, size)
	if err != nil {
		return err
	}
	if crc32.Checksum(b, castagnoli) != row.sum {
		return d.fail("program file is damaged: the sum of rank %d's part differs", rank)
	}
	p := d.p
	base, next := int32(len(p.Steps)), uint32(0)
	for i := range int(row.blocks) {
		o := b[i*planBlockSize:]
		first, n := le.Uint32(o[12:]), le.Uint32(o[16:])
		if first != next || n > row.steps-next {
			return d.fail("block %d of rank %d does not hold the steps from %d", i, rank, next)
		}
		next += n
		t := ir.TB{
			Block: ir.Block{Rank: int32(rank), SendPeer: int32(le.Uint32(o)), RecvPeer: int32(le.Uint32(o[4:])),
				Channel: int32(le.Uint32(o[8:]))},
			Steps: ir.Range{First: base + int32(first), End: base + int32(next)},
		}
		if d.features&planTogether != 0 && t.RecvPeer > 0 {
			t.RecvPeer, t.Together = -1, t.RecvPeer
		}
		p.Blocks = append(p.Blocks, t)
	}
	if next != row.steps {
		return d.fail("rank %d has %d steps, and its blocks %d", rank, row.steps, next)
	}
	steps := b[int(row.blocks)*planBlockSize:]
	for i := range int(row.steps) {
		p.Steps = append(p.Steps, getStep(steps[i*planStepSize:]))
	}
	if p.OneSided != nil {
		return d.oneSidedPart(rank, p.Steps[base:], steps[int(row.steps)*planStepSize:])
	}
	return nil
}

func getStep(o []byte) ir.Step {
	o = o[:planStepSize]
	n := func(at int) int32 { return int32(le.Uint32(o[at:])) }
	return ir.Step{Op: ir.Op(o[0]), SrcBuf: ir.Buf(o[1]), DstBuf: ir.Buf(o[2]), Flags: ir.StepFlags(o[3]),
		Src: n(4), Dst: n(8), Count: n(12), Class: n(16), DepBlock: n(20), DepStep: n(24), Pos: n(28)}
}

// checkRanks compares what rows repeat for readers that know no collectives
// with what the collective says.
func (d *reader) checkRanks() error {
	table, err := d.section(secRanks)
	if err != nil {
		return err
	}
	for r := range d.p.Rank {
		row := d.row(table, r)
		inOut, outIn := shifts(d.p.Coll, r)
		if int(row.in) != d.p.Coll.InChunks(r) || int(row.out) != d.p.Coll.OutChunks(r) || int(row.inOut) != inOut ||
			int(row.outInPos) != outIn {
			return d.fail("the buffers of rank %d are not those of its collective", r)
		}
	}
	return nil
}

package ir

// Memory numbers the chunk-sized cells of all ranks densely, so that passes
// and evaluation keep what they know of a cell in flat arrays. Input and
// output of a collective in place share cells.
type Memory struct {
	base []memoryBase
	end  int
}

type memoryBase struct{ input, output, out, scratch, packets, end int }

// NewMemory lays out the cells of c's buffers and of scratch[rank] cells of
// scratch for each rank (scratch may be nil).
func NewMemory(c *Collective, scratch []int32) *Memory { return NewPacketMemory(c, scratch, nil) }

// NewPacketMemory lays out what NewMemory does, and packets[rank] cells of packets for each rank.
func NewPacketMemory(c *Collective, scratch, packets []int32) *Memory {
	m := &Memory{base: make([]memoryBase, c.Ranks)}
	for r := range m.base {
		b := &m.base[r]
		in, out := c.InChunks(r), c.OutChunks(r)
		b.input, b.out = m.end, out
		if !c.Inplace {
			b.output = m.end + in
			m.end += in + out
		} else if inOut, outIn := c.Shift(r); inOut >= 0 {
			b.output = m.end
			b.input = m.end + inOut
			m.end += max(out, inOut+in)
		} else {
			b.output = m.end + outIn
			m.end += max(in, outIn+out)
		}
		b.scratch = m.end
		if scratch != nil {
			m.end += int(scratch[r])
		}
		b.packets = m.end
		if packets != nil {
			m.end += int(packets[r])
		}
		b.end = m.end
	}
	return m
}

// Len returns the number of cells of all ranks.
func (m *Memory) Len() int { return m.end }

// Rank gives the cells [first, end) of rank.
func (m *Memory) Rank(rank int) (first, end int) {
	if rank > 0 {
		first = m.base[rank-1].end
	}
	return first, m.base[rank].end
}

// Cell returns the cell of chunk index of a buffer of rank. Consecutive chunks have
// consecutive cells.
func (m *Memory) Cell(rank int, b Buf, index int) int {
	base := &m.base[rank]
	switch b {
	case Input:
		return base.input + index
	case Output:
		return base.output + index
	case Packets:
		return base.packets + index
	}
	return base.scratch + index
}

// Chunk returns the chunk that lies in a cell of rank. Where input and output are
// one memory it is that of the output, if it is one.
func (m *Memory) Chunk(rank, cell int) (Buf, int) {
	base := &m.base[rank]
	switch {
	case cell >= base.packets:
		return Packets, cell - base.packets
	case cell >= base.scratch:
		return Scratch, cell - base.scratch
	case cell >= base.output && cell < base.output+base.out:
		return Output, cell - base.output
	}
	return Input, cell - base.input
}

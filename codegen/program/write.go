package program

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/form"
)

// Write writes p as a plan. Equal programs give equal bytes.
func Write(w io.Writer, p *either.Program) error {
	if found := form.Check(p, form.Unbounded); len(found) > 0 {
		return found
	}
	_, err := w.Write(Encode(p))
	return codegen.WriteError(err)
}

var le = binary.LittleEndian

// Encode returns the bytes of p as a plan. p must be well formed.
func Encode(p *either.Program) []byte {
	e := newLayout(p)
	e.out = make([]byte, e.end)
	copy(e.out[e.at[secStrings]:], e.strings)
	copy(e.out[e.at[secContract]:], e.contract)
	e.ranks()
	e.sources()
	e.header()
	return e.out
}

// layout says where everything goes before a byte is written.
type layout struct {
	p                 *either.Program
	strings, contract []byte
	file              map[string]uint32
	at, size          [numSections]int
	end               int
	out               []byte
}

func newLayout(p *either.Program) *layout {
	e := &layout{p: p, file: map[string]uint32{}}
	e.names()
	e.contract = contractBytes(p.Coll)
	e.size = [numSections]int{
		secStrings: len(e.strings), secRanks: len(p.Rank) * rankSize(p.OneSided != nil),
		secParts:    len(p.Blocks)*planBlockSize + len(p.Steps)*planStepSize,
		secContract: len(e.contract), secSources: len(p.Spans) * planSpanSize,
	}
	if p.OneSided != nil {
		e.size[secParts] += len(p.OneSided.Operands) * planOperandSize
	}
	// Parts of an odd number of blocks end at a multiple of 4; each begins at one of 8.
	for r := range p.Rank {
		e.size[secParts] += align8(partSize(p, r)) - partSize(p, r)
	}
	e.end = headerSize
	for i, n := range e.size {
		e.at[i] = e.end
		e.end = align8(e.end + n)
	}
	return e
}

func partSize(p *either.Program, rank int) int {
	return int(p.Rank[rank].End-p.Rank[rank].First)*planBlockSize + stepsOf(p, rank)*planStepSize +
		operandsOf(p, rank)*planOperandSize
}

// stepsOf returns the number of rank's steps.
func stepsOf(p *either.Program, rank int) int {
	n := 0
	for _, b := range p.TBsOf(rank) {
		n += int(b.Steps.End - b.Steps.First)
	}
	return n
}

// names collects the program's name, the files of its positions, and its epilogue.
func (e *layout) names() {
	names := []string{e.p.Name}
	for i := range e.p.Spans {
		name := e.p.Spans[i].Filename
		if i > 0 && name == e.p.Spans[i-1].Filename {
			continue
		}
		if _, ok := e.file[name]; !ok {
			e.file[name] = uint32(len(names))
			names = append(names, name)
		}
	}
	if len(e.p.Then) > 0 {
		names = append(names, e.p.Then.String())
	}
	e.strings = le.AppendUint32(nil, uint32(len(names)))
	for _, s := range names {
		e.strings = le.AppendUint32(e.strings, uint32(len(s)))
		e.strings = append(e.strings, s...)
	}
}

// contractBytes returns what header and kind do not say of a collective.
func contractBytes(c *ir.Collective) []byte {
	var b []byte
	add := func(n int32) { b = le.AppendUint32(b, uint32(n)) }
	switch c.Kind {
	case ir.SendRecv:
		for _, p := range c.Peer {
			add(p)
		}
	case ir.Custom:
		add(int32(len(c.Require)))
		for _, out := range sortedWants(c) {
			list := c.Require[out]
			add(out.Rank)
			add(out.Index)
			add(int32(len(list)))
			for _, p := range list {
				add(p.Rank)
				add(p.Index)
			}
		}
	}
	return b
}

// sortedWants returns the output chunks that c requires something of, in order.
func sortedWants(c *ir.Collective) []ir.Part {
	outs := make([]ir.Part, 0, len(c.Require))
	for out := range c.Require {
		outs = append(outs, out)
	}
	slices.SortFunc(outs,
		func(a, b ir.Part) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Index, b.Index)) })
	return outs
}

// ranks writes each rank's part and its row.
func (e *layout) ranks() {
	at := e.at[secParts]
	for r := range e.p.Rank {
		size := partSize(e.p, r)
		part := e.out[at : at+size]
		steps := e.part(part, r)
		row := e.out[e.at[secRanks]+r*rankSize(e.p.OneSided != nil):]
		le.PutUint64(row, uint64(at))
		inOut, outIn := shifts(e.p.Coll, r)
		for i, n := range []int{len(e.p.TBsOf(r)), steps, e.p.ScratchOf(r), e.p.Coll.InChunks(r), e.p.Coll.OutChunks(r),
			inOut, outIn} {
			le.PutUint32(row[8+4*i:], uint32(n))
		}
		le.PutUint32(row[36:], crc32.Checksum(part, castagnoli))
		if e.p.OneSided != nil {
			putOneSidedRow(row[planRankSize:], e.p, r)
		}
		at += align8(size)
	}
}

// part writes the blocks and steps of rank and returns how many steps.
func (e *layout) part(out []byte, rank int) int {
	tbs := e.p.TBsOf(rank)
	steps := out[len(tbs)*planBlockSize:]
	first := 0
	for i := range tbs {
		b := &tbs[i]
		list := e.p.StepsOf(b)
		from := b.RecvPeer
		if b.Together != 0 {
			from = b.Together
		}
		for k, n := range [5]int32{b.SendPeer, from, b.Channel, int32(first), int32(len(list))} {
			le.PutUint32(out[i*planBlockSize+4*k:], uint32(n))
		}
		for k := range list {
			putStep(steps[(first+k)*planStepSize:], &list[k])
		}
		first += len(list)
	}
	if e.p.OneSided != nil {
		e.oneSidedPart(steps, rank)
	}
	return first
}

func putStep(o []byte, s *ir.Step) {
	o = o[:planStepSize]
	o[0], o[1], o[2], o[3] = byte(s.Op), byte(s.SrcBuf), byte(s.DstBuf), byte(s.Flags)
	le.PutUint32(o[4:], uint32(s.Src))
	le.PutUint32(o[8:], uint32(s.Dst))
	le.PutUint32(o[12:], uint32(s.Count))
	le.PutUint32(o[16:], uint32(s.Class))
	le.PutUint32(o[20:], uint32(s.DepBlock))
	le.PutUint32(o[24:], uint32(s.DepStep))
	le.PutUint32(o[28:], uint32(s.Pos))
}

func (e *layout) sources() {
	for i := range e.p.Spans {
		s := &e.p.Spans[i]
		o := e.out[e.at[secSources]+i*planSpanSize:]
		le.PutUint32(o, e.file[s.Filename])
		le.PutUint32(o[4:], uint32(s.Line))
		le.PutUint32(o[8:], uint32(s.Column))
		le.PutUint32(o[12:], uint32(s.Len))
		le.PutUint64(o[16:], uint64(s.Offset))
	}
}

// header writes the header, last, because it holds the sums of the rest.
func (e *layout) header() {
	p, c, h := e.p, e.p.Coll, e.out[:headerSize]
	copy(h, codegen.ProgramMagic)
	le.PutUint32(h[8:], planVersion)
	le.PutUint32(h[12:], planVersion)
	le.PutUint64(h[16:], featuresOf(p))
	if p.OneSided != nil {
		le.PutUint32(h[100:], uint32(p.OneSided.Depth))
	}
	le.PutUint64(h[24:], ABI())
	le.PutUint64(h[32:], uint64(e.end))
	flags := 0
	for i, on := range []bool{c.Inplace, p.InPlace, p.OutOfPlace, p.Even, c.PerRank != nil, p.OneSided != nil &&
		p.OneSided.OnePass} {
		if on {
			flags |= 1 << i
		}
	}
	for i, n := range []int{c.Ranks, int(c.Kind), c.Chunks, c.Root, p.Channels(), c.In, c.Out, int(p.Protocol), flags} {
		le.PutUint32(h[44+4*i:], uint32(n))
	}
	le.PutUint64(h[80:], uint64(p.Sizes.Min))
	le.PutUint64(h[88:], uint64(p.Sizes.Max))
	le.PutUint32(h[96:], uint32(p.RanksPerNode))
	for i := range numSections {
		o := h[sectionTable+i*sectionSize:]
		le.PutUint64(o, uint64(e.at[i]))
		le.PutUint64(o[8:], uint64(e.size[i]))
		if i != secParts {
			le.PutUint32(o[16:], crc32.Checksum(e.out[e.at[i]:e.at[i]+e.size[i]], castagnoli))
		}
	}
	le.PutUint32(h[40:], crc32.Checksum(h, castagnoli))
}

package bundle

import (
	"encoding/binary"
	"fmt"
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
)

// This file reads the sections of a bundle.

// rows reads n rows of a section from an offset on.
func rows[T any](b []byte, at uint64, n uint32) ([]T, error) {
	size := uint64(binary.Size(*new(T)))
	if at > uint64(len(b)) || uint64(n) > (uint64(len(b))-at)/size {
		return nil, fmt.Errorf("%d rows of %d bytes at %d do not fit into %d bytes", n, size, at, len(b))
	}
	list := make([]T, n)
	_, err := binary.Decode(b[at:], binary.LittleEndian, list)
	return list, err
}

// row reads the row that a section begins with.
func row[T any](b []byte) (r T, err error) {
	list, err := rows[T](b, 0, 1)
	if err == nil {
		r = list[0]
	}
	return r, err
}

func (b *Bundle) decodeSet(p part) error {
	r, err := row[setRow](p.bytes)
	if err != nil {
		return err
	}
	s := Set{Ranks: int(r.Ranks), CTAs: int(r.CTAs), Device: text(r.Device[:]), Arena: r.Arena, Image: r.Image,
		Copier: r.Copier}
	at := uint64(binary.Size(r))
	if s.Rules, err = rows[RuleRow](p.bytes, at, r.Rules); err != nil {
		return err
	}
	at += uint64(r.Rules) * uint64(binary.Size(RuleRow{}))
	if s.Programs, err = rows[uint32](p.bytes, at, r.Programs); err != nil {
		return err
	}
	if s.Ranks > MostRanks {
		return fmt.Errorf("it is for %d ranks", s.Ranks)
	}
	if err = s.setNode(r.Node); err != nil {
		return err
	}
	b.Sets = append(b.Sets, s)
	if i := len(b.Sets) - 1; int(p.number) != b.numberOf(i) || !b.inOrder(i) {
		return fmt.Errorf("it is for %s, and not in order", s.Title())
	}
	return nil
}

func (b *Bundle) decodeProgram(p part) error {
	r, err := row[ProgramRow](p.bytes)
	if err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	out := &Program{ProgramRow: r}
	list, err := rows[partRow](p.bytes, uint64(binary.Size(r)), r.Ranks)
	if err != nil {
		return err
	}
	blocks := 0
	for rank, of := range list {
		t := abi.OnePart{}
		if t.Blocks, err = rows[abi.OneBlock](p.bytes, of.BlocksAt, of.Blocks); err != nil {
			return err
		}
		if t.Steps, err = rows[abi.OneStep](p.bytes, of.StepsAt, of.Steps); err != nil {
			return err
		}
		if t.Operands, err = rows[abi.OneOperand](p.bytes, of.OperandsAt, of.Operands); err != nil {
			return err
		}
		if err := checkPart(&t, &r, rank); err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
		blocks += len(t.Blocks)
		out.Parts = append(out.Parts, t)
	}
	if blocks != int(r.Blocks) {
		return fmt.Errorf("its ranks have %d blocks, and not %d", blocks, r.Blocks)
	}
	b.Programs = append(b.Programs, out)
	return nil
}

// check refuses numbers that no program of a bundle has.
func (p *ProgramRow) check() error {
	kind := ir.Kind(p.Kind)
	switch {
	case p.Kind >= uint32(ir.NumKinds) || !slices.Contains(Kinds, kind):
		return fmt.Errorf("no program is for collective %d", p.Kind)
	case p.Ranks < 2 || p.Ranks > MostRanks || p.Root >= p.Ranks || !kind.Rooted() && p.Root != 0:
		return fmt.Errorf("it is for %d ranks with root %d", p.Ranks, p.Root)
	case p.Chunks < 1 || p.Chunks > 1<<16 || p.Protocol >= uint32(ir.NumProtocols) || p.Depth < 1 || p.Depth > 1<<16:
		return fmt.Errorf("%d chunks, protocol %d or depth %d is out of range", p.Chunks, p.Protocol, p.Depth)
	case p.OnePass != 0 || p.Copies > 1 || p.Lines > 1 || p.Even > 1 || p.Bitwise > 1 || p.Direct > 1:
		return fmt.Errorf("a switch of it is not 0 or 1")
	case p.Nodes == 1 || p.Nodes > p.Ranks || p.Nodes > 0 && p.Direct != 0:
		return fmt.Errorf("%d nodes of its ranks are out of range, or it is direct", p.Nodes)
	case p.Direct != 0 && kind.Rooted():
		return fmt.Errorf("it reaches buffers of other ranks, and has a root")
	case p.OutOfPlace != 1 || p.InPlace != bit(choose.HasInPlace(kind)):
		return fmt.Errorf("it is not for calls in place and out of place")
	case kind == ir.AllReduce && p.Bitwise != 1:
		return fmt.Errorf("its ranks end with different bits")
	case p.Columns < 1 || p.Columns > mostColumns || p.Tile < 16 || p.Tile > mostTile || p.Tile%16 != 0:
		return fmt.Errorf("%d replicas or tiles of %d bytes are out of range", p.Columns, p.Tile)
	case p.Blocks > 1<<20 || p.Scratch > 1<<20 || p.Packets > 1<<20 || p.Flags > 1<<20:
		return fmt.Errorf("it needs more memory than a bundle has")
	}
	return checkName(p.Name[:])
}

// checkName refuses a name that is empty or does not end.
func checkName(b []byte) error {
	name := text(b)
	if name == "" || len(name) == len(b) || slices.ContainsFunc([]byte(name), func(c byte) bool { return c < ' ' }) {
		return fmt.Errorf("its name is %q", name)
	}
	return nil
}

// checkPart refuses tables of a rank whose rows name others that there are not.
func checkPart(t *abi.OnePart, p *ProgramRow, rank int) error {
	within := func(first, n uint32, length int) bool { return uint64(first)+uint64(n) <= uint64(length) }
	shared := uint32(0)
	for i := range t.Blocks {
		b := &t.Blocks[i]
		if int(b.Rank) != rank || b.Number >= p.Blocks || !within(b.FirstStep, b.Steps, len(t.Steps)) ||
			!within(b.FirstOperand, b.Operands, len(t.Operands)) {
			return fmt.Errorf("block %d is of another rank, or its tables do not fit", i)
		}
		if n := b.Together; n != 0 && (!ir.MayShare(int(n)) || shared != 0 && n != shared) {
			return fmt.Errorf("block %d has %d replicas together in a CTA", i, n)
		} else if n != 0 {
			shared = n
		}
		for k := range t.Steps[b.FirstStep : b.FirstStep+b.Steps] {
			s := &t.Steps[b.FirstStep+uint32(k)]
			if s.Op >= uint8(ir.NumOps) || !within(s.First, uint32(s.Srcs)+uint32(s.Dsts), int(b.Operands)) {
				return fmt.Errorf("step %d of block %d is none, or its operands do not fit", k, i)
			}
		}
	}
	for i, o := range t.Operands {
		if o.Rank < 0 || int(o.Rank) >= int(p.Ranks) || !p.bufferOf(ir.Buf(o.Buf)) {
			return fmt.Errorf("operand %d is of rank %d and buffer %d", i, o.Rank, o.Buf)
		}
		if p.Direct == 0 && int(o.Rank) != rank && ir.Buf(o.Buf) <= ir.Output {
			return fmt.Errorf("operand %d is a buffer of rank %d, and the program is staged", i, o.Rank)
		}
	}
	return nil
}

var buffers = []ir.Buf{ir.Input, ir.Output, ir.Scratch, ir.Packets, ir.Flags}

func (b *Bundle) decodeImage(p part) error {
	r, err := row[imageRow](p.bytes)
	if err != nil {
		return err
	}
	code := p.bytes[binary.Size(r):]
	switch {
	case r.Form > FormCubin || r.Target < 50 || r.Target > 999 || r.DType >= uint32(data.NumDTypes):
		return fmt.Errorf("an image of form %d for sm_%d and type %d is out of range", r.Form, r.Target, r.DType)
	case r.Bytes != uint64(len(code)) || len(code) == 0 || r.Form == FormPTX && code[len(code)-1] != 0:
		return fmt.Errorf("an image of %d bytes has %d, or does not end", r.Bytes, len(code))
	}
	b.Images = append(b.Images, Image{Form: int(r.Form), Target: int(r.Target), DType: data.DType(r.DType),
		Name: text(r.Name[:]), Code: code})
	return checkName(r.Name[:])
}

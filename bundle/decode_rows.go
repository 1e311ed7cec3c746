package bundle

import (
	"encoding/binary"
	"fmt"
	"slices"

	"mscclc/bundle/limits"
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
	if r.Rules > limits.Rules || r.Programs > limits.Programs {
		return fmt.Errorf("it has %d rules and %d programs, and a set has at most %d and %d", r.Rules, r.Programs,
			limits.Rules, limits.Programs)
	}
	at := uint64(binary.Size(r))
	if s.Rules, err = rows[RuleRow](p.bytes, at, r.Rules); err != nil {
		return err
	}
	at += uint64(r.Rules) * uint64(binary.Size(RuleRow{}))
	if s.Programs, err = rows[uint32](p.bytes, at, r.Programs); err != nil {
		return err
	}
	if r.Ranks < 2 || r.Ranks > limits.Ranks {
		return fmt.Errorf("it is for %d ranks", r.Ranks)
	}
	if err = checkName(r.Device[:]); err != nil {
		return err
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
	for _, of := range list {
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
		out.Parts = append(out.Parts, t)
	}
	b.Programs = append(b.Programs, out)
	return nil
}

// check refuses numbers that no program of a bundle has.
func (p *ProgramRow) check() error {
	kind := ir.Kind(p.Kind)
	switch {
	case p.Kind > uint32(ir.Custom):
		return fmt.Errorf("no program is for collective %d", p.Kind)
	case p.Ranks < 2 || p.Ranks > limits.Ranks || p.Root >= p.Ranks || !kind.Rooted() && p.Root != 0:
		return fmt.Errorf("it is for %d ranks with root %d", p.Ranks, p.Root)
	case p.Chunks < 1 || p.Protocol >= uint32(ir.NumProtocols) || p.Depth < 1:
		return fmt.Errorf("%d chunks, protocol %d or depth %d is out of range", p.Chunks, p.Protocol, p.Depth)
	case p.OnePass != 0 || p.Copies > 1 || p.Lines > 1 || p.Even > 1 || p.Direct > 1:
		return fmt.Errorf("a switch of it is not 0 or 1")
	case p.Nodes == 1 || p.Nodes > p.Ranks || p.Nodes > 0 && p.Direct != 0:
		return fmt.Errorf("%d nodes of its ranks are out of range, or it is direct", p.Nodes)
	case p.Direct != 0 && kind.Rooted():
		return fmt.Errorf("it reaches buffers of other ranks, and has a root")
	case p.OutOfPlace > 1 || p.InPlace > 1 || p.OutOfPlace+p.InPlace == 0:
		return fmt.Errorf("it is neither for calls in place nor for calls out of place")
	case p.Bitwise > 1 || kind == ir.AllReduce && p.Bitwise != 1:
		return fmt.Errorf("its ranks end with different bits")
	case p.Replicas < 1 || p.Replicas > limits.Replicas || !isTile(p.Tile):
		return fmt.Errorf("%d replicas or tiles of %d bytes are out of range", p.Replicas, p.Tile)
	}
	if err := p.checkSize(); err != nil {
		return err
	}
	return checkName(p.Name[:])
}

// checkSize refuses a program that is larger than any of a bundle.
func (p *ProgramRow) checkSize() error {
	for _, n := range []struct {
		what      string
		has, most uint32
	}{{"thread blocks on all ranks", p.Blocks, limits.Blocks}, {"chunks", p.Chunks, limits.Chunks},
		{"copies of scratch", p.Depth, limits.Depth}} {
		if n.has > n.most {
			return fmt.Errorf("it has %d %s, and a program of a bundle has at most %d", n.has, n.what, n.most)
		}
	}
	return nil
}

// isTile reports whether tiles may have so many bytes.
func isTile(n uint64) bool {
	return n >= limits.TileAlign && n <= limits.Tile && n%limits.TileAlign == 0
}

// checkName refuses a name that is empty or does not end.
func checkName(b []byte) error {
	name := text(b)
	if name == "" || len(name) == len(b) || slices.ContainsFunc([]byte(name), func(c byte) bool { return c < ' ' }) {
		return fmt.Errorf("its name is %q", name)
	}
	return nil
}

func (b *Bundle) decodeImage(p part) error {
	r, err := row[imageRow](p.bytes)
	if err != nil {
		return err
	}
	code := p.bytes[binary.Size(r):]
	switch {
	case r.Form > FormCubin || r.Target < limits.LeastTarget || r.Target > limits.MostTarget ||
		r.DType >= uint32(data.NumDTypes):
		return fmt.Errorf("an image of form %d for sm_%d and type %d is out of range", r.Form, r.Target, r.DType)
	case r.Bytes != uint64(len(code)) || len(code) == 0 || r.Form == FormPTX && code[len(code)-1] != 0:
		return fmt.Errorf("an image of %d bytes has %d, or does not end", r.Bytes, len(code))
	}
	b.Images = append(b.Images, Image{Form: int(r.Form), Target: int(r.Target), DType: data.DType(r.DType),
		Name: text(r.Name[:]), Code: code})
	return checkName(r.Name[:])
}

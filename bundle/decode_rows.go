package bundle

import (
	"encoding/binary"
	"fmt"
	"slices"

	"mscclc/executor/abi"
	"mscclc/executor/data"
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
	if err := r.check(); err != nil {
		return err
	}
	s := Set{Ranks: int(r.Ranks), CTAs: int(r.CTAs), Device: text(r.Device[:]), Arena: r.Arena, Image: r.Image,
		Copier: r.Copier, Invariant: r.Invariant != 0, Finishers: r.Finishers}
	at := uint64(binary.Size(r))
	if s.Rules, err = rows[RuleRow](p.bytes, at, r.Rules); err != nil {
		return err
	}
	at += uint64(r.Rules) * uint64(binary.Size(RuleRow{}))
	if s.Programs, err = rows[uint32](p.bytes, at, r.Programs); err != nil {
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
	if err := r.checkThen(); err != nil {
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

// checkName refuses a name that is empty or does not end, as check_name of the library.
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
	last := uint8(0)
	if len(code) > 0 {
		last = code[len(code)-1]
	}
	if err := r.check(uint64(len(code)), last); err != nil {
		return err
	}
	b.Images = append(b.Images, Image{Form: int(r.Form), Target: int(r.Target), DType: data.DType(r.DType),
		Name: text(r.Name[:]), Code: code})
	return nil
}

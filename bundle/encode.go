package bundle

import (
	"crypto/sha256"
	"encoding/binary"

	"mscclc/executor/abi"
)

// Encode returns the bytes of b. Equal bundles give equal bytes.
func Encode(b *Bundle) []byte {
	var parts []part
	add := func(kind, number int, bytes []byte) { parts = append(parts, part{uint32(kind), uint32(number), bytes}) }
	add(sectionAbout, 0, b.About)
	for i := range b.Sets {
		add(sectionSet, b.numberOf(i), b.Sets[i].encode())
	}
	for i, p := range b.Programs {
		add(sectionProgram, i, p.encode())
	}
	for i, p := range b.Programs {
		add(sectionSource, i, p.Source)
	}
	for i := range b.Images {
		add(sectionImage, i, b.Images[i].encode())
	}
	for i, p := range b.Programs {
		add(sectionWhere, i, p.Where)
	}
	for i, p := range b.Programs {
		if p.Net != nil {
			add(sectionNet, i, p.Net.encode())
		}
	}
	for i, p := range b.Programs {
		if p.Named != nil {
			add(sectionNamed, i, p.Named.encode())
		}
	}
	return assemble(b.ABI, parts)
}

// A part is a section and what it holds.
type part struct {
	kind, number uint32
	bytes        []byte
}

// assemble writes header, table and sections.
func assemble(hash [32]byte, parts []part) []byte {
	at := aligned(binary.Size(header{}) + len(parts)*binary.Size(section{}))
	var table []byte
	for _, p := range parts {
		row := section{Kind: p.kind, Number: p.number, Offset: uint64(at), Bytes: uint64(len(p.bytes)),
			SHA256: sha256.Sum256(p.bytes)}
		table = put(table, row)
		at = aligned(at + len(p.bytes))
	}
	h := header{Version: Version, Sections: uint32(len(parts)), Bytes: uint64(at), ABI: hash, Table: sha256.Sum256(table)}
	copy(h.Magic[:], Magic)
	out := put(make([]byte, 0, at), h)
	out = padded(append(out, table...))
	for _, p := range parts {
		out = padded(append(out, p.bytes...))
	}
	return out
}

func aligned(n int) int { return (n + Align - 1) &^ (Align - 1) }

// padded returns b with zeros up to the next multiple of Align.
func padded(b []byte) []byte { return append(b, make([]byte, aligned(len(b))-len(b))...) }

// put appends a row, or rows.
func put(b []byte, rows any) []byte {
	b, err := binary.Append(b, binary.LittleEndian, rows)
	if err != nil {
		panic(err) // rows have fixed sizes
	}
	return b
}

func (s *Set) encode() []byte {
	row := setRow{Ranks: uint32(s.Ranks), Rules: uint32(len(s.Rules)), Programs: uint32(len(s.Programs)),
		CTAs: uint32(s.CTAs), Arena: s.Arena, Image: s.Image, Copier: s.Copier}
	copy(row.Device[:], s.Device)
	for r, n := range s.Node {
		row.Node[r] = uint8(n)
	}
	return put(put(put(nil, row), s.Rules), s.Programs)
}

func (p *Program) encode() []byte {
	at := aligned(binary.Size(ProgramRow{}) + len(p.Parts)*binary.Size(partRow{}))
	var rows []partRow
	var tables []byte
	table := func(rows any) uint64 {
		offset := at + len(tables)
		tables = padded(put(tables, rows))
		return uint64(offset)
	}
	for i := range p.Parts {
		t := &p.Parts[i]
		rows = append(rows, partRow{Blocks: uint32(len(t.Blocks)), Steps: uint32(len(t.Steps)),
			Operands: uint32(len(t.Operands)), BlocksAt: table(t.Blocks), StepsAt: table(t.Steps),
			OperandsAt: table(t.Operands)})
	}
	return append(padded(put(put(nil, p.ProgramRow), rows)), tables...)
}

func (i *Image) encode() []byte {
	row := imageRow{Form: uint32(i.Form), Target: uint32(i.Target), DType: uint32(i.DType), Bytes: uint64(len(i.Code))}
	copy(row.Name[:], i.Name)
	return append(put(nil, row), i.Code...)
}

// partsOf returns the tables of each rank of a program.
func partsOf(one *abi.OneImage, ranks int) []abi.OnePart {
	parts := make([]abi.OnePart, ranks)
	for r := range parts {
		parts[r] = *one.Part(func(rank int) bool { return rank == r })
	}
	return parts
}

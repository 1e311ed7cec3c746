// Package bundle makes bundles: files with programs, their kernels, and rules that say which calls a program runs. The
// library in package runtime reads them. rows.go specifies the format.
//
// [Build] compiles and proves the programs of a list of rules, and lays out their memory. [Encode] writes a [Bundle].
// [Decode] reads one and checks every number in it. [Verify] proves all programs of a file again, and compares the
// tables of the file with the tables that it makes itself. Equal input gives equal bytes.
package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
)

// A Bundle is what a file of bundles holds. Programs and images are numbered from 0 by their place in the lists.
type Bundle struct {
	About    []byte   // JSON of an About
	ABI      [32]byte // kernels.Hash of the build that made it
	Sets     []Set    // by ranks; those for one node first
	Programs []*Program
	Images   []Image
}

// A Set is what communicators of a given number of ranks run. The first rule that fits a call counts; a call that no
// rule fits is NCCL's. Programs are numbers of programs of the bundle. CTAs is the most that a rule has on a rank.
// Arena is the bytes of a rank's memory that others reach.
type Set struct {
	Ranks, CTAs   int
	Invariant     bool    // for jobs whose sums have the same bits for all sizes
	Node          []int32 // of each rank, from 0, in order; nil for one node
	Device        string
	Arena         uint64
	Rules         []RuleRow
	Programs      []uint32
	Image, Copier [data.NumDTypes]uint32 // numbers of images, or none
	Finishers     uint32                 // 1 + the number of the first image that finishes rows; 0: none
}

// A Program is a proven program with its tables. Parts holds the tables of each rank. Source is its program file
// (codegen/program). Where has a line "file:line" for each step, in the order of the whole program.
type Program struct {
	ProgramRow
	Parts  []abi.OnePart
	Net    *Net   // of ranks on several nodes, else nil
	Named  *Named // of a program that jobs run by its name, else nil
	Source []byte
	Where  []byte
}

// Memory returns the bytes of a rank's arena that the program has.
func (p *Program) Memory() uint64 { return p.EndAt - p.ScratchAt }

// BlocksOf returns the most thread blocks that a rank has.
func (p *Program) BlocksOf() int {
	most := 0
	for i := range p.Parts {
		most = max(most, len(p.Parts[i].Blocks))
	}
	return most
}

// CTAs returns how many CTAs the rank has that has most, in a given number of replicas.
func (p *Program) CTAs(replicas int) (most int) {
	for i := range p.Parts {
		if p.Nodes > 0 {
			most = max(most, p.Parts[i].CTAs(replicas))
		} else {
			most = max(most, replicas*len(p.Parts[i].Blocks))
		}
	}
	return most
}

// Shared returns how many replicas share a CTA, of the blocks whose replicas do; 1 where there are none.
func (p *Program) Shared() int {
	shared := 1
	for i := range p.Parts {
		n, _ := p.Parts[i].Together()
		shared = max(shared, n)
	}
	return shared
}

// tables returns the image whose tables p holds, as far as memory depends on it.
func (p *Program) tables() abi.OneImage {
	return abi.OneImage{Depth: int(p.Depth), OnePass: p.OnePass != 0, Scratch: int(p.Scratch), Packets: int(p.Packets),
		Flags: int(p.Flags), Copies: p.Copies != 0, Lines: p.Lines != 0, Replicas: int(p.Replicas), Tile: int64(p.Tile),
		Blocks: make([]abi.OneBlock, p.Blocks)}
}

// An Image is code for a GPU. Code is PTX that ends in a zero byte, or machine code. Target is 80 of sm_80.
type Image struct {
	Form, Target int
	DType        data.DType
	Name         string
	Code         []byte
}

// Kinds are the collectives that a bundle has rules for.
var Kinds = []ir.Kind{ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.AllToAll, ir.Broadcast, ir.ReduceTo, ir.Gather,
	ir.Scatter}

// text returns a name of fixed size without the zeros after it.
func text(b []byte) string { return string(bytes.TrimRight(b, "\x00")) }

// kind returns the collective of p.
func (p *Program) kind() ir.Kind { return ir.Kind(p.Kind) }

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
		CTAs: uint32(s.CTAs), Arena: s.Arena, Image: s.Image, Copier: s.Copier, Invariant: uint32(bit(s.Invariant)),
		Finishers: s.Finishers}
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

// Package bundle makes bundles: files with the programs, kernels and rules of communicators, which the library in
// runtime reads. runtime/src/bundle_rows.h is the format.
//
// [Build] compiles and proves the programs of some rules, and lays out their memory. [Encode] writes a [Bundle], and
// [Decode] reads one and checks every number in it. [Verify] proves all programs of a file anew, and compares the
// tables in it with those that it makes itself. Equal input gives equal bytes.
package bundle

import (
	"bytes"

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

// A Set is what communicators of so many ranks run. The first rule that fits a call counts; a call that no rule fits is
// NCCL's. Programs are numbers of programs of the bundle. CTAs is the most that a rule has on a rank. Arena is the
// bytes of a rank's memory that others reach.
type Set struct {
	Ranks, CTAs   int
	Node          []int32 // of each rank, from 0, in order; nil for one node
	Device        string
	Arena         uint64
	Rules         []RuleRow
	Programs      []uint32
	Image, Copier [data.NumDTypes]uint32 // numbers of images, or none
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

// Title returns the program's name and protocol: allreduce/ring LL128.
func (p *Program) Title() string { return text(p.Name[:]) }

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

// CTAs returns how many CTAs the rank has that has most, in so many replicas.
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
		Flags: int(p.Flags), Copies: p.Copies != 0, Lines: p.Lines != 0, Columns: int(p.Columns), Tile: int64(p.Tile),
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

// text returns a name of fixed size without the zeros behind it.
func text(b []byte) string { return string(bytes.TrimRight(b, "\x00")) }

// kind returns the collective of p.
func (p *Program) kind() ir.Kind { return ir.Kind(p.Kind) }

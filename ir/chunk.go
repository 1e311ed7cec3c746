package ir

import (
	"fmt"
	"mscclc/ir/diag"
	"mscclc/ir/epilogue"
	"slices"
	"strconv"
)

// A Header is what all forms of a program share.
type Header struct {
	Name         string
	Coll         *Collective
	Protocol     Protocol
	Sizes        SizeRange
	RanksPerNode int
	Then         epilogue.List // what becomes of each row of a complete sum on its way to the output
	Spans        []diag.Span   // source positions; an instruction's Pos indexes them, -1 is none
	Declaration  diag.Span     // source position of the collective, or zero
}

// Span returns the source position pos, or the zero Span for -1.
func (h *Header) Span(pos int32) diag.Span {
	if pos < 0 || int(pos) >= len(h.Spans) {
		return diag.Span{}
	}
	return h.Spans[pos]
}

// A SizeRange is the message sizes [Min, Max) in bytes that a program is for,
// as nccl-tests counts them; Max 0 means no bound.
type SizeRange struct{ Min, Max int64 }

// Holds reports whether a call of `bytes` bytes is in the range.
func (r SizeRange) Holds(bytes int64) bool {
	return bytes >= r.Min && (r.Max == 0 || bytes < r.Max)
}

// A ChunkDAG says which chunk goes where: the operations of a file, in the
// file's order, for concrete ranks. The order defines the result; the
// dependences follow from what each operation reads and writes.
type ChunkDAG struct {
	Header
	Scratch []ScratchDecl
	Ops     []ChunkOp
	Srcs    []Ref  // the operands of all operations
	Hints   []Hint // Hints[0] is the empty hint
}

// A ScratchDecl is one scratch buffer, which every rank has. Its Buf is
// Scratch plus its index.
type ScratchDecl struct {
	Name   string
	Chunks int
	Span   diag.Span
}

// A Ref is the first chunk of a run of chunks in one buffer of one rank.
type Ref struct {
	Rank  int32
	Index int32
	Buf   Buf
}

// A ChunkOp writes the reduction of its sources, folded left to right, to Dst;
// with one source that is a copy. Sources and Dst have Count chunks each. Dst
// may be one of the sources and overlaps none in part.
type ChunkOp struct {
	Dst   Ref
	Count int32
	Src   int32 // sources are Srcs[Src : Src+NSrc]
	NSrc  int32
	Ways  int32 // parallelize: the number of parts, at least 1
	Hint  int32 // index in Hints
	Pos   int32 // index in Spans
}

// A Hint is what the author asked of the lowering. -1, and Via 0, ask nothing.
type Hint struct {
	Channel, SendTB, RecvTB int32
	Lane                    int32
	Via                     Via
	Pull                    bool
}

// NoHint asks nothing.
var NoHint = Hint{Channel: -1, SendTB: -1, RecvTB: -1, Lane: -1}

// A Via is the kind of channel that an algorithm may ask one-sided lowering to use.
type Via uint8

// The ways of a transfer.
const (
	ViaAny Via = iota
	ViaMemory
	ViaPort
	ViaSwitch
)

// Sources returns the sources of op.
func (d *ChunkDAG) Sources(op *ChunkOp) []Ref { return d.Srcs[op.Src : op.Src+op.NSrc] }

// ScratchChunks returns, for each rank, the cells of all scratch buffers, as
// NewMemory takes them: the buffers lie one after the other.
func (d *ChunkDAG) ScratchChunks() []int32 {
	total := int32(0)
	for _, s := range d.Scratch {
		total += int32(s.Chunks)
	}
	n := make([]int32, d.Coll.Ranks)
	for r := range n {
		n[r] = total
	}
	return n
}

// ScratchBase returns where each scratch buffer begins among all of a rank.
func (d *ChunkDAG) ScratchBase() []int {
	base, at := make([]int, len(d.Scratch)), 0
	for i, s := range d.Scratch {
		base[i] = at
		at += s.Chunks
	}
	return base
}

// viaNames are the ways as the language and the text forms name them.
var viaNames = [...]string{ViaMemory: "memory", ViaPort: "port", ViaSwitch: "switch"}

// String names v as the language does, or gives its number.
func (v Via) String() string {
	if v != ViaAny && int(v) < len(viaNames) {
		return viaNames[v]
	}
	return strconv.Itoa(int(v))
}

// MarshalText writes v's name.
func (v Via) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a name.
func (v *Via) UnmarshalText(text []byte) (err error) {
	var ok bool
	if *v, ok = ViaByName(string(text)); !ok {
		err = fmt.Errorf("%q is no way of a transfer", text)
	}
	return err
}

// ViaByName finds a way by its name in the language.
func ViaByName(s string) (Via, bool) {
	i := slices.Index(viaNames[:], s)
	return Via(max(i, 0)), i > 0
}

package mscclpp

import (
	_ "embed"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// A Plan is an execution plan of MSCCL++ as its JSON has it, key by key: with the indices of indices that the executor
// follows, in the file's order. Read makes one of a file, Channels says what it means, and PlanOf writes what
// ir has. Keys that a file may leave out have here what the executor takes in their place, and are written.
//
// Buffers are "i", "o" and "s"; types of channels "memory", "port" and "switch". plan.schema.json is the schema.
type Plan struct {
	Filename   string // of positions
	Name       string // name: by which the executor knows a plan again
	At         Pos    // of the collective
	Collective string // collective
	Protocol   string // protocol: Simple or LL, which has scratch of twice the size
	InPlace    bool   // inplace
	Reuse      bool   // reuse_resources
	GPUs       []GPU
	Threads    int32  // num_threads_per_block
	Double     bool   // use_double_scratch_buffer
	Alignment  int32  // buffer_alignment: bytes
	MinBytes   uint64 // min_message_size: included
	MaxBytes   uint64 // max_message_size: included

	Ignored diag.List // warnings of keys that its file has, and MSCCL++ ignores; they are not written
}

// A Pos is where something stands in a plan's file, zero where it was not read from one.
type Pos struct{ Offset, Line, Column, Len int32 }

// A GPU is a rank of a plan.
type GPU struct {
	At                     Pos
	ID                     int32
	Input, Output, Scratch int32 // input_chunks, output_chunks, scratch_chunks
	Blocks                 []Block
	Channels               []Channels
	Remote                 []RemoteBuffer // remote_buffers
	Semaphores             []int32        // their init_value
}

// Channels are channels of one type that a rank has. Entries of one type follow each other.
type Channels struct {
	At     Pos
	Type   string  // channel_type
	Peers  []int32 // connected_to: memory, port
	Buffer string  // buffer_type: switch
	Groups []Group // rank_groups: switch
}

// A Group is the ranks of a switch channel.
type Group struct {
	Size  int32
	Ranks []int32
}

// A RemoteBuffer is another rank's buffer.
type RemoteBuffer struct {
	At     Pos
	Rank   int32
	Buffer string   // type
	Access []string // access_channel_types; their order means nothing
}

// A Block is a thread block of a rank. Its operations index its own lists, and these the rank's.
type Block struct {
	At       Pos
	ID       int32
	Ops      []Op
	Channels []IDs // channels
	Remote   []IDs // remote_buffer_refs
}

// IDs are a block's channels or remote buffers of one type.
type IDs struct {
	At   Pos
	Type string // channel_type, access_channel_type
	IDs  []int32
}

// An Op is an operation of a block. Slices are nil where the file has no such key.
type Op struct {
	At         Pos
	Name       string
	Src, Dst   []Operand // src_buff, dst_buff
	ChannelIDs []int32
	Type       string // channel_type, or ""
	Reduce     string // reduce_op, or ""
	Semaphores []int32
	Barrier    int32 // barrier_id
	Blocks     int32 // num_threadblocks
	Part       *Part // tbg_info
	Loop       *Loop
}

// A Part is which part of a group's work an operation is.
type Part struct{ ID, Size int32 }

// A Loop is what only a pipeline has.
type Loop struct {
	Unit   int64 // iter_context.unit_size: bytes
	Chunks int32 // iter_context.num_chunks
	Ops    []Op
}

// An Operand is a run of chunks that an operation reads or writes.
type Operand struct {
	Kind        OperandKind
	Buffer      byte  // Local: 'i', 'o' or 's'
	ID          int32 // Remote: buffer_id; Switch: switch_channel_id
	Index, Size int32 // chunks
	Rank        int32 // of a gstore's source, which means nothing; -1 where it has none
}

// An OperandKind says what memory an operand is of.
type OperandKind uint8

// The kinds of operands.
const (
	Local OperandKind = iota
	Remote
	Switch
)

// What MSCCL++'s executor has room for, beside ir.OpChannels and its like of an operation. It checks the first alone;
// the others it overruns.
const (
	MaxOps        = 64   // of a block, with the bodies of its loops
	MaxChannels   = 16   // of a block and type
	MaxRemote     = 16   // remote buffers of a block and type
	MaxBarriers   = 16   // of a rank
	MaxThreads    = 1024 // of a block
	MaxPorts      = 1024 // port channels of a rank: 10 bits of a proxy's request
	MaxPortMemory = 512  // buffers that a rank's proxy knows, its own three among them: 9 bits
)

// opRow says of an operation which operands it has. A shape is a letter an operand, the last of which a + repeats:
// l plain and p packets of the rank itself, r and q of another, m and n through a switch.
type opRow struct {
	name     string
	kind     ir.ChannelOpKind
	src, dst string
	types    uint8 // that it goes through, as bits; 0 for none
	port     string
}

const (
	viaMemory = 1 << ir.MemoryChannel
	viaPort   = 1 << ir.PortChannel
	viaSwitch = 1 << ir.SwitchChannel
)

// opRows are all operations. port is the shape of the sources through a port, where that is another.
var opRows = []opRow{
	{name: "nop", kind: ir.ChMeet},
	{name: "barrier", kind: ir.ChBarrier},
	{name: "signal", kind: ir.ChSignal, types: viaMemory | viaPort},
	{name: "wait", kind: ir.ChAwait, types: viaMemory | viaPort},
	{name: "rlxsignal", kind: ir.ChRelaxedSignal, types: viaMemory | viaPort},
	{name: "rlxwait", kind: ir.ChRelaxedAwait, types: viaMemory | viaPort},
	{name: "flush", kind: ir.ChFlush, types: viaPort},
	{name: "sem_acquire", kind: ir.ChAcquire},
	{name: "sem_release", kind: ir.ChRelease},
	{name: "pipeline", kind: ir.ChLoop},
	{name: "copy", kind: ir.ChMove, src: "l", dst: "l"},
	{name: "cpkt", kind: ir.ChMove, src: "l", dst: "p"},
	{name: "upkt", kind: ir.ChMove, src: "p", dst: "l"},
	{name: "put", kind: ir.ChEach, src: "l+", dst: "r+", types: viaMemory | viaPort},
	{name: "pws", kind: ir.ChEachSignal, src: "l+", dst: "r+", types: viaPort},
	{name: "pwsf", kind: ir.ChEachSignalFlush, src: "l+", dst: "r+", types: viaPort},
	{name: "ppkt", kind: ir.ChEach, src: "l+", dst: "q+", types: viaMemory | viaPort, port: "p+"},
	{name: "rppkt", kind: ir.ChMove, src: "p", dst: "q+", types: viaMemory | viaPort},
	{name: "get", kind: ir.ChEach, src: "r+", dst: "l+", types: viaMemory},
	{name: "re", kind: ir.ChMove, src: "ll+", dst: "l"},
	{name: "res", kind: ir.ChMove, src: "ll+", dst: "lr+", types: viaMemory},
	{name: "rre", kind: ir.ChMove, src: "lr+", dst: "l", types: viaMemory},
	{name: "rres", kind: ir.ChMove, src: "lr+", dst: "lr+", types: viaMemory},
	{name: "repkt", kind: ir.ChMove, src: "lp+", dst: "l"},
	{name: "respkt", kind: ir.ChMove, src: "lp+", dst: "lq+", types: viaMemory},
	{name: "recpkt", kind: ir.ChMove, src: "lp+", dst: "lp"},
	{name: "recspkt", kind: ir.ChMove, src: "lp+", dst: "lpq+", types: viaMemory},
	{name: "glres", kind: ir.ChMove, src: "m", dst: "m", types: viaSwitch},
	{name: "gstore", kind: ir.ChMove, src: "l", dst: "m", types: viaSwitch},
	{name: "gstorepkt", kind: ir.ChMove, src: "p", dst: "n", types: viaSwitch},
}

// moves reports whether the operation has operands, reduces whether it combines several.
func (r *opRow) moves() bool   { return r.dst != "" }
func (r *opRow) reduces() bool { return len(r.src) == 3 || r.name == "glres" }

// sources returns the shape of the sources through type t.
func (r *opRow) sources(t ir.ChannelType) string {
	if t == ir.PortChannel && r.port != "" {
		return r.port
	}
	return r.src
}

// shapeAt returns the letter of operand i, shapeFits whether n operands can be of the shape.
func shapeAt(shape string, i int) byte {
	letters := len(shape)
	if shape[letters-1] == '+' {
		letters--
	}
	return shape[min(i, letters-1)]
}

func shapeFits(shape string, n int) bool {
	if shape[len(shape)-1] == '+' {
		return n >= len(shape)-1
	}
	return n == len(shape)
}

// opRowByName finds an operation by its name.
func opRowByName(name string) *opRow {
	i := slices.IndexFunc(opRows, func(r opRow) bool { return r.name == name })
	if i < 0 {
		return nil
	}
	return &opRows[i]
}

// channelTypeNames and the functions below name what the file has as words.
var channelTypeNames = [...]string{ir.MemoryChannel: "memory", ir.PortChannel: "port", ir.SwitchChannel: "switch"}

func channelTypeByName(s string) ir.ChannelType {
	if i := slices.Index(channelTypeNames[:], s); i >= 0 {
		return ir.ChannelType(i)
	}
	return ir.NoChannel
}

// bufNames are the names of buffers by ir.Buf.
var bufNames = [...]string{ir.Input: "i", ir.Output: "o", ir.Scratch: "s"}

func bufByLetter(c byte) ir.Buf {
	switch c {
	case 'i':
		return ir.Input
	case 'o':
		return ir.Output
	}
	return ir.Scratch
}

// span returns where at is in the file.
func (f *Plan) span(at Pos) diag.Span {
	return diag.Span{Pos: diag.Pos{Filename: f.Filename, Offset: int(at.Offset), Line: int(at.Line),
		Column: int(at.Column)}, Len: int(at.Len)}
}

// Schema is the JSON schema (2020-12) of MSCCL++'s execution plans, as its executor can run them: every key that
// Read knows, the operands of each operation, and the limits that are of one list. A test makes it of the reader's own
// tables. What the reader refuses beyond it is what lies in several places: ids that lead nowhere, chunks beyond their
// buffers, channels without their other end.
//
//go:embed plan.schema.json
var Schema []byte

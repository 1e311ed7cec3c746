// The rows of a bundle, field by field. go generate writes them, and rows_check.go, as the library's header.
// A file is a header, a table of sections, and sections. All numbers are little-endian. Offsets are multiples of Align,
// and count from the beginning of the file, or of the section where a row says so. Each section has its SHA-256 in the
// table, and the header has the table's, so that a reader checks only the sections that it uses.

package bundle

//go:generate go run ./internal/rowsgen -o ../runtime/src/bundle/rows_gen.h

import (
	"structs"

	"mscclc/bundle/limits"
	"mscclc/executor/data"
)

// Version is the version of the format, and Align the alignment of sections and of the tables in them.
const (
	Version = 5
	Align   = 64
)

// Magic is what a bundle begins with.
const Magic = "MSCCLCB\n"

// NCCLRow is the program of a rule whose calls NCCL runs; any other is the number of a program. none is the number of a
// section that the bundle does not have. Any is a rule's type, operation or root where it is for all of them.
const (
	NCCLRow = 0xffffffff
	none    = 0xffffffff
	Any     = 255
)

// A header begins a bundle. ABI is the SHA-256 of the kernel's sources: of all that host and kernel agree on. Table is
// that of the table of sections, which follows.
type header struct {
	_                 structs.HostLayout
	Magic             [8]byte
	Version, Sections uint32
	Bytes             uint64 // of the file
	ABI, Table        [32]uint8
	_                 [40]uint8
}

// The kinds of sections, in the order in which a bundle has them.
const (
	sectionAbout   = 1 // JSON for people: who made the bundle, of what
	sectionSet     = 2
	sectionProgram = 3
	sectionSource  = 4 // the program file of the program of the same number, for proofs and for messages
	sectionImage   = 5
	sectionWhere   = 6 // a line "file:line" for each step of the program of the same number, by rank
	sectionNet     = 7 // what the program of the same number sends between nodes, if its ranks are on several
	sectionNamed   = 8 // the names of the program of the same number, if jobs run it by its name
)

// A section is a row of the table of sections. Number is: of a set, its ranks, and 1 << 16 for each set before it for
// as many; of programs, their sources and images, a count from 0 in the bundle.
type section struct {
	_             structs.HostLayout
	Kind, Number  uint32
	Offset, Bytes uint64
	SHA256        [32]uint8
	_             uint64
}

// A setRow begins the section of a set: of what communicators of so many ranks run. Its rules follow it, then the
// numbers of its programs (uint32). Of sets for as many ranks, that for one node is the first, and the images of the
// others are net_* ones.
type setRow struct {
	_                            structs.HostLayout
	Ranks, Rules, Programs, CTAs uint32                 // CTAs is the most that a rule has
	Arena                        uint64                 // bytes of a rank's memory that others reach, on any rank
	Image, Copier                [data.NumDTypes]uint32 // by type: for what is reduced; for what is only moved; or none
	Device                       [64]byte               // as the driver has its name
	Node                         [limits.Ranks]uint8    // of each rank, from 0; 0 where all are on one
	_                            uint64
}

// The launches that a rule is for: at least one of the first two, unless WhenNamed is set.
const (
	WhenEager     = 1
	WhenCaptured  = 2
	WhenWindows   = 4  // only calls whose buffers all lie in registered windows
	WhenCandidate = 8  // nobody measured it: it counts without NCCL, and else the library learns whether it is faster
	WhenNamed     = 16 // alone: no call finds the rule, and its program is run by its name

	whenAll = WhenEager | WhenCaptured | WhenWindows | WhenCandidate
)

// A RuleRow is a rule of a set: what runs a call. The first that fits a call counts.
type RuleRow struct {
	_                              structs.HostLayout
	Kind, DType, RedOp, Root, When uint8 // DType, RedOp and Root may be Any
	_                              [3]uint8
	Program, Calls                 uint32 // NCCLRow, or a program's number; the most calls of a group, or 0 for any number
	Replicas, Threads              uint32 // of a launch; of a block
	Tile, UpTo                     uint64 // bytes; UpTo is the most of a call, as nccl-tests counts: of input or output
}

// A ProgramRow begins the section of a program: what a reader of bundles needs to know of it beside its tables. Rows of
// all ranks' parts follow, then the tables that these name. Scratch, Packets, Flags, Replicas and Tile say what memory
// it needs (abi.OneImage), and the fields behind these where that lies in a rank's arena. No two programs of a set
// share any of it. Direct is 1 where steps may reach input and output of other ranks. Only rules for windows name such
// a program. It is right where all ranks are in place, and where none is.
type ProgramRow struct {
	_                                    structs.HostLayout
	Kind, Ranks, Root, Chunks            uint32 // Chunks: of a piece
	Protocol, Depth                      uint32
	OnePass, Copies, Lines, Even         uint8
	InPlace, OutOfPlace, Bitwise, Direct uint8
	Scratch, Packets, Flags              uint32 // chunks that a rank has of them; Flags without the runtime's
	Blocks                               uint32 // of all ranks
	Replicas, Nodes                      uint32 // Nodes: how many the ranks are on, or 0 for one
	Tile                                 uint64
	ScratchAt, PacketsAt, FlagsAt, EndAt uint64
	Name                                 [64]byte // allreduce/ring LL128
	_                                    [4]uint64
}

// A partRow says where the tables of a rank lie in the section of its program.
type partRow struct {
	_                             structs.HostLayout
	Blocks, Steps, Operands, _    uint32
	BlocksAt, StepsAt, OperandsAt uint64
	_                             uint64
}

// A netRow begins the section of what a program sends between nodes. Rows of abi.NetMessage and abi.NetSegment follow.
// Operands of such a program may have the buffers of inboxes (rows_net.h).
type netRow struct {
	_                            structs.HostLayout
	Messages, Segments, Inbox, _ uint32 // Inbox: the most chunks of scratch that the inbox of a rank has
}

// A namedRow begins the section of a program that jobs run by its name. Rows of bufferRow follow, for input and output.
// Such a program is staged, is for ranks of one node, and has one rule in its set, which has WhenNamed. No other
// program of the set has the name.
type namedRow struct {
	_          structs.HostLayout
	Name       [64]byte
	Buffers, _ uint32
}

// The directions of the buffers of a named program, which has one of each.
const (
	directionInput  = 1
	directionOutput = 2
	numBuffers      = 2
)

// A bufferRow is a buffer of a named program. Units says how many units a rank has of it, by rank: pieces or, of a
// custom collective, chunks. A call has as many elements a unit as it says.
type bufferRow struct {
	_            structs.HostLayout
	Name         [32]byte
	Direction, _ uint32
	Units        [limits.Ranks]uint32
}

// The forms of images: PTX, which ends in a zero byte, and machine code.
const (
	FormPTX   = 0
	FormCubin = 1
)

// An imageRow begins the section of an image, before its code.
type imageRow struct {
	_                      structs.HostLayout
	Form, Target, DType, _ uint32   // Target is 80 of sm_80
	Bytes                  uint64   // of the code
	Name                   [40]byte // onesided_bf16
}

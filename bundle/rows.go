// This file is runtime/src/bundle/rows.h in Go, field by field.

package bundle

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

// none is the number of an image that the bundle does not have. NCCLRow is the program of a rule whose calls NCCL runs.
const none, NCCLRow = 1<<32 - 1, 1<<32 - 1

// Any is a rule's type, operation or root where it is for all of them.
const Any = 255

// A header begins a bundle.
type header struct {
	_                 structs.HostLayout
	Magic             [8]byte
	Version, Sections uint32
	Bytes             uint64
	ABI, Table        [32]byte
	_                 [40]byte
}

// The kinds of sections, in the order in which a bundle has them.
const (
	sectionAbout = 1 + iota
	sectionSet
	sectionProgram
	sectionSource
	sectionImage
	sectionWhere
	sectionNet
	sectionNamed
)

// A section is a row of the table behind the header.
type section struct {
	_             structs.HostLayout
	Kind, Number  uint32
	Offset, Bytes uint64
	SHA256        [32]byte
	_             uint64
}

// A setRow begins the section of a set. Node is the node of each rank, from 0.
type setRow struct {
	_                            structs.HostLayout
	Ranks, Rules, Programs, CTAs uint32
	Arena                        uint64
	Image, Copier                [data.NumDTypes]uint32
	Device                       [64]byte
	Node                         [limits.Ranks]uint8
	_                            uint64
}

// The launches that a rule is for: at least one of the first two. WhenWindows restricts a rule to calls whose buffers
// all lie in registered windows. WhenCandidate says that nobody measured the rule: it counts without NCCL, and else the
// library learns whether its program is faster. Such a rule has a program, and is for any buffers and one node.
// WhenNamed, which stands alone, is of the one rule of a named program: no call finds it but one of the program's name.
const (
	WhenEager     = 1
	WhenCaptured  = 2
	WhenWindows   = 4
	WhenCandidate = 8
	WhenNamed     = 16

	whenAll = WhenEager | WhenCaptured | WhenWindows | WhenCandidate
)

// A RuleRow is a rule of a set. DType, RedOp and Root may be Any. Program is the number of a program of the bundle, or
// NCCLRow. Calls is 0 for groups of any number of calls.
type RuleRow struct {
	_                              structs.HostLayout
	Kind, DType, RedOp, Root, When uint8
	_                              [3]uint8
	Program, Calls                 uint32
	Replicas, Threads              uint32
	Tile, UpTo                     uint64
}

// A ProgramRow begins the section of a program: what a reader of bundles needs to know of it beside its tables.
// Scratch, Packets, Flags, Replicas and Tile say what memory it needs (abi.OneImage), and the fields behind these where
// that lies in a rank's arena, in bytes. Direct is 1 where steps may reach input and output of other ranks. Nodes is
// how many nodes the ranks are on, or 0 for one: other programs have a section with a netRow.
type ProgramRow struct {
	_                                    structs.HostLayout
	Kind, Ranks, Root, Chunks            uint32
	Protocol, Depth                      uint32
	OnePass, Copies, Lines, Even         uint8
	InPlace, OutOfPlace, Bitwise, Direct uint8
	Scratch, Packets, Flags              uint32
	Blocks                               uint32
	Replicas, Nodes                      uint32
	Tile                                 uint64
	ScratchAt, PacketsAt, FlagsAt, EndAt uint64
	Name                                 [64]byte
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
type netRow struct {
	_                            structs.HostLayout
	Messages, Segments, Inbox, _ uint32
}

// A namedRow begins the section of a program that jobs run by its name. Rows of bufferRow follow.
type namedRow struct {
	_          structs.HostLayout
	Name       [64]byte
	Buffers, _ uint32
}

// The directions of buffers.
const (
	directionInput  = 1
	directionOutput = 2
)

// A bufferRow is a buffer of a named program. Units says how many units a rank has of it, by rank: a call has as many
// elements a unit as it says.
type bufferRow struct {
	_            structs.HostLayout
	Name         [32]byte
	Direction, _ uint32
	Units        [limits.Ranks]uint32
}

// The forms of images.
const (
	FormPTX   = 0
	FormCubin = 1
)

// An imageRow begins the section of an image.
type imageRow struct {
	_                      structs.HostLayout
	Form, Target, DType, _ uint32
	Bytes                  uint64
	Name                   [40]byte
}

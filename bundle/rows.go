// The rows of a bundle: their fields, and what they may be, with the reason where they are refused. go generate writes
// all of this file and of rows_rule.go as the library's header, so that the library refuses the same rows for the same
// reasons. A function returns an expression, or is a list of cases with a message each, and comes after those that it
// calls. Both readers compare unused fields with 0 besides.
//
// A file is a header, a table of sections, and sections. All numbers are little-endian. Offsets are multiples of Align,
// and count from the beginning of the file, or of the section where a row says so. Each section has its SHA-256 in the
// table, and the header has the table's, so that a reader checks only the sections that it uses.

package bundle

//go:generate go run ./internal/rowsgen -o ../runtime/src/bundle/rows_gen.h

import (
	"fmt"
	"structs"

	"mscclc/bundle/limits"
	"mscclc/executor/data"
)

// Version is the version of the format, and Align the alignment of sections and of the tables in them.
const (
	Version = 6
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

// A setRow begins the section of a set: of what communicators run whose number of ranks is Ranks. Its rules follow it,
// then the numbers of its programs (uint32). Of sets for as many ranks, that for one node is the first. One for
// invariant bits may follow it, which is for one node, too. The images of the others are net_* ones. Images that finish
// rows, one for each type, follow each other: they run programs with an epilogue.
type setRow struct {
	_                            structs.HostLayout
	Ranks, Rules, Programs, CTAs uint32                 // CTAs is the most that a rule has
	Arena                        uint64                 // bytes of a rank's memory that others reach, on any rank
	Image, Copier                [data.NumDTypes]uint32 // by type: for what is reduced; for what is only moved; or none
	Device                       [64]byte               // as the driver has its name
	Node                         [limits.Ranks]uint8    // of each rank, from 0; 0 where all are on one
	Invariant                    uint32                 // 1: sums are added in the order of ranks
	Finishers                    uint32                 // 1 + the first image that finishes rows; 0: none
}

func (s *setRow) check() error {
	switch {
	case s.Rules > limits.Rules || s.Programs > limits.Programs:
		return fmt.Errorf("it has %d rules and %d programs, and a set has at most %d and %d", s.Rules, s.Programs,
			limits.Rules, limits.Programs)
	case s.Ranks < 2 || s.Ranks > limits.Ranks:
		return fmt.Errorf("it is for %d ranks", s.Ranks)
	case s.Invariant > 1:
		return fmt.Errorf("a switch of it is not 0 or 1")
	case s.Arena > limits.Arena:
		return fmt.Errorf("its arena has %d bytes, and %d are the most", s.Arena, limits.Arena)
	}
	return checkName(s.Device[:])
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

// check refuses what no program has whose scratch has scratch chunks.
func (n *netRow) check(scratch uint32) error {
	switch {
	case n.Inbox > scratch:
		return fmt.Errorf("an inbox of %d chunks has more than scratch", n.Inbox)
	}
	return nil
}

// The directions of the buffers of a named program, which has one of each.
const (
	directionInput  = 1
	directionOutput = 2
	numBuffers      = 2
)

// A namedRow begins the section of a program that jobs run by its name. Rows of bufferRow follow, for input and output.
// Such a program is staged, is for ranks of one node, and has one rule in its set, which has WhenNamed. No other
// program of the set has the name.
type namedRow struct {
	_          structs.HostLayout
	Name       [64]byte
	Buffers, _ uint32
}

func (n *namedRow) check() error {
	if err := checkName(n.Name[:]); err != nil {
		return err
	}
	switch {
	case n.Buffers != numBuffers:
		return fmt.Errorf("%s has %d buffers", text(n.Name[:]), n.Buffers)
	}
	return nil
}

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

// check refuses an image that cannot be. Its code has a length of bytes, and ends with last.
func (i *imageRow) check(bytes uint64, last uint8) error {
	switch {
	case i.Form > FormCubin || i.Target < limits.LeastTarget || i.Target > limits.MostTarget ||
		i.DType >= uint32(data.NumDTypes):
		return fmt.Errorf("an image of form %d for sm_%d and type %d is out of range", i.Form, i.Target, i.DType)
	case i.Bytes != bytes || bytes == 0 || i.Form == FormPTX && last != 0:
		return fmt.Errorf("an image of %d bytes has %d, or does not end", i.Bytes, bytes)
	}
	return checkName(i.Name[:])
}

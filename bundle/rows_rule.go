package bundle

import (
	"fmt"
	"math"
	"math/bits"
	"structs"

	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/ir"
)

// This file is the rows of programs and of rules, as rows.go is those of all else.

// A ProgramRow begins the section of a program: what a reader of bundles needs to know of it beside its tables. Rows of
// all ranks' parts follow, then the tables that these name. Scratch, Packets, Flags, Replicas and Tile say what memory
// it needs (abi.OneImage), and the fields after these where that lies in a rank's arena. No two programs of a set
// share any of it. Direct is 1 where steps may reach input and output of other ranks. Only rules for windows name such
// a program. It is right where all ranks are in place, and where none is.
//
// Stages to Block are the program's epilogue (ir/epilogue), if it has one: what becomes of each row of a complete sum
// on its way to the output. Such a program is staged, and for calls out of place. Type is what the output ends as, if
// the last stage is a Quantise or a Cast, and Block is of a Quantise.
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
	Ordered                              uint32   // 1: it adds in the order of ranks (bitwise.InRankOrder)
	Block                                uint32   // elements that share a scale; 0: all of a row
	Stage                                [8]uint8 // epilogue.Kind
	Stages, Function, Type               uint8    // how many; epilogue.Function of an Activation; data.DType
	_                                    [5]uint8
	_                                    uint64
}

// isTile reports whether tiles may have n bytes.
func isTile(n uint64) bool {
	return n >= limits.TileAlign && n <= limits.Tile && n%limits.TileAlign == 0
}

// Title returns the program's name and protocol: allreduce/ring LL128.
func (p *ProgramRow) Title() string { return text(p.Name[:]) }

// checkSize refuses a program that is larger than any of a bundle.
func (p *ProgramRow) checkSize() error {
	switch {
	case p.Blocks > limits.Blocks:
		return fmt.Errorf("it has %d thread blocks on all ranks, and a program of a bundle has at most %d", p.Blocks,
			limits.Blocks)
	case p.Chunks > limits.Chunks:
		return fmt.Errorf("it has %d chunks, and a program of a bundle has at most %d", p.Chunks, limits.Chunks)
	case p.Depth > limits.Depth:
		return fmt.Errorf("it has %d copies of scratch, and a program of a bundle has at most %d", p.Depth, limits.Depth)
	}
	return nil
}

// check refuses numbers that no program of a bundle has. Those of its memory follow from the arena's bounds.
func (p *ProgramRow) check() error {
	switch {
	case p.Kind > uint32(ir.Custom):
		return fmt.Errorf("no program is for collective %d", p.Kind)
	case p.Ranks < 2 || p.Ranks > limits.Ranks || p.Root >= p.Ranks || !ir.Kind(p.Kind).Rooted() && p.Root != 0:
		return fmt.Errorf("it is for %d ranks with root %d", p.Ranks, p.Root)
	case p.Chunks < 1 || p.Protocol >= uint32(ir.NumProtocols) || p.Depth < 1:
		return fmt.Errorf("%d chunks, protocol %d or depth %d is out of range", p.Chunks, p.Protocol, p.Depth)
	case p.OnePass != 0 || p.Copies > 1 || p.Lines > 1 || p.Even > 1 || p.Direct > 1 || p.Ordered > 1:
		return fmt.Errorf("a switch of it is not 0 or 1")
	case p.Nodes == 1 || p.Nodes > p.Ranks || p.Nodes > 0 && p.Direct != 0:
		return fmt.Errorf("%d nodes of its ranks are out of range, or it is direct", p.Nodes)
	case p.Direct != 0 && ir.Kind(p.Kind).Rooted():
		return fmt.Errorf("it reaches buffers of other ranks, and has a root")
	case p.OutOfPlace > 1 || p.InPlace > 1 || p.OutOfPlace == 0 && p.InPlace == 0:
		return fmt.Errorf("it is neither for calls in place nor for calls out of place")
	case p.Stages > limits.Stages || p.Block > limits.ScaleBlock:
		return fmt.Errorf("it has %d stages of an epilogue, and scales of %d elements", p.Stages, p.Block)
	case p.Stages > 0 && (p.Kind != uint32(ir.AllReduce) || p.Copies != 0 || p.Nodes > 0 || p.Direct != 0 ||
		p.InPlace != 0):
		return fmt.Errorf("it has an epilogue, and is no staged AllReduce out of place on one node")
	case p.Bitwise > 1 || ir.Kind(p.Kind) == ir.AllReduce && p.Bitwise != 1:
		return fmt.Errorf("its ranks end with different bits")
	case p.Replicas < 1 || p.Replicas > limits.Replicas || !isTile(p.Tile):
		return fmt.Errorf("%d replicas or tiles of %d bytes are out of range", p.Replicas, p.Tile)
	}
	if err := p.checkSize(); err != nil {
		return err
	}
	return checkName(p.Name[:])
}

// checkRuled refuses a program that is not for all calls that rules may have. Named programs need not be.
func (p *ProgramRow) checkRuled() error {
	switch {
	case p.Kind > uint32(ir.Scatter):
		return fmt.Errorf("rules have no programs of %v", ir.Kind(p.Kind))
	case p.Stages == 0 && (p.OutOfPlace != 1 || (p.InPlace == 1) != choose.HasInPlace(ir.Kind(p.Kind))):
		return fmt.Errorf("it is not for calls in place and out of place")
	}
	return nil
}

// The launches that a rule is for: at least one of the first two, unless WhenNamed is set.
const (
	WhenEager     = 1
	WhenCaptured  = 2
	WhenWindows   = 4  // only calls whose buffers all lie in registered windows
	WhenCandidate = 8  // nobody measured it: it counts without NCCL, and else the library learns whether it is faster
	WhenNamed     = 16 // alone: no call finds the rule, and its program is run by its name
	WhenApart     = 32 // only calls among GPUs that do not reach each other's memory; others are for GPUs that do
	WhenThen      = 64 // only calls with the epilogue that its program has; others are for calls without one

	whenAll = WhenEager | WhenCaptured | WhenWindows | WhenCandidate | WhenApart | WhenThen
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

// checkNamed refuses a rule of a named program that any other call could find.
func (r *RuleRow) checkNamed() error {
	switch {
	case r.When != WhenNamed || r.DType != Any || r.RedOp != Any || r.Calls != 0 || r.UpTo != math.MaxUint64 ||
		r.Kind > uint8(ir.Custom) || r.Program == NCCLRow:
		return fmt.Errorf("it is of a named program, and restricted")
	case !ir.Kind(r.Kind).Rooted() && r.Root != Any:
		return fmt.Errorf("it is of a named program without a root, and has one")
	}
	return nil
}

// check refuses a rule that no set for these ranks, on this many nodes, has. 0 is one node.
func (r *RuleRow) check(ranks, nodes uint32) error {
	switch {
	case r.When&WhenNamed != 0:
		return r.checkNamed()
	case r.Kind > uint8(ir.Scatter):
		return fmt.Errorf("it is for collective %d", r.Kind)
	case r.DType != Any && r.DType >= uint8(data.NumDTypes) || r.RedOp != Any && r.RedOp >= uint8(data.NumRedOps) ||
		r.Root != Any && uint32(r.Root) >= ranks:
		return fmt.Errorf("type %d, operation %d or root %d is out of range", r.DType, r.RedOp, r.Root)
	case r.When&(WhenEager|WhenCaptured) == 0 || r.When > whenAll:
		return fmt.Errorf("no launches are %#x", r.When)
	case r.When&WhenApart != 0 && (r.When&(WhenWindows|WhenCandidate) != 0 || nodes > 0):
		return fmt.Errorf("it is for GPUs that are apart, and for windows or several nodes, or a candidate")
	case r.When&WhenCandidate != 0 && (r.Program == NCCLRow || r.When&WhenWindows != 0 || nodes > 0):
		return fmt.Errorf("it is a candidate, and not a program for any buffers on one node")
	case r.When&WhenThen != 0 && (r.Program == NCCLRow || r.When&(WhenWindows|WhenCandidate) != 0 || nodes > 0):
		return fmt.Errorf("it is for calls with an epilogue, and not a program for any buffers on one node")
	case r.When&WhenWindows != 0 && nodes > 0:
		return fmt.Errorf("it is for windows, and ranks of several nodes have none")
	case r.When&WhenWindows != 0 && ir.Kind(r.Kind).Rooted():
		return fmt.Errorf("it is for windows, and for %v, of which ranks may leave out buffers", ir.Kind(r.Kind))
	case r.Program == NCCLRow && (r.Replicas != 0 || r.Threads != 0 || r.Tile != 0):
		return fmt.Errorf("it is NCCL's, and has replicas, threads or a tile")
	}
	return nil
}

// uneven reports whether a block of r cannot be divided among the replicas that share it. Their number is shared. Their
// parts are powers of two, of whole warps.
func (r *RuleRow) uneven(shared uint32) bool {
	return shared > 1 && (bits.OnesCount32(r.Threads) > 1 || r.Threads < limits.Warp*shared)
}

// checkProgram refuses a rule that p is not right for: named says whether p has a name, shared how many of its replicas
// share a CTA, and invariant whether the set is for invariant bits.
func (r *RuleRow) checkProgram(p *ProgramRow, named bool, shared, invariant uint32) error {
	switch {
	case invariant != 0 && !named && ir.Kind(r.Kind).Reduces() && p.Ordered == 0:
		return fmt.Errorf("it is for invariant bits, and %s does not add in the order of ranks", p.Title())
	case named != (r.When == WhenNamed):
		return fmt.Errorf("%s has a name and it has none, or the other way around", p.Title())
	case p.Kind != uint32(r.Kind):
		return fmt.Errorf("it is for %v, and %s is for %v", ir.Kind(r.Kind), p.Title(), ir.Kind(p.Kind))
	case ir.Kind(r.Kind).Rooted() && uint32(r.Root) != p.Root:
		return fmt.Errorf("it is for root %d, and %s for root %d", r.Root, p.Title(), p.Root)
	case (p.Stages > 0) != (r.When&WhenThen != 0):
		return fmt.Errorf("%s has an epilogue and it is for calls without, or the other way around", p.Title())
	case p.Direct != 0 && r.When&WhenWindows == 0:
		return fmt.Errorf("%s reaches buffers of other ranks, and it is not for windows", p.Title())
	case r.Replicas < 1 || r.Replicas > p.Replicas:
		return fmt.Errorf("it has %d replicas, and %s has memory for %d", r.Replicas, p.Title(), p.Replicas)
	case r.Threads < limits.Warp || r.Threads > limits.Threads || r.Threads%limits.Warp != 0:
		return fmt.Errorf("it has blocks of %d threads", r.Threads)
	case r.uneven(shared):
		return fmt.Errorf("it has blocks of %d threads, which %d replicas do not share evenly", r.Threads, shared)
	case !isTile(r.Tile):
		return fmt.Errorf("it has tiles of %d bytes", r.Tile)
	}
	return nil
}

// fits reports whether r is for the call c, which has bytes bytes and is launched as when says. Whether the
// communicator has the CTAs is another matter.
func (r *RuleRow) fits(c *call, bytes uint64, when uint8) bool {
	return uint32(r.Kind) == c.kind && r.When&when != 0 && bytes <= r.UpTo &&
		(r.DType == Any || uint32(r.DType) == c.dtype) && (r.RedOp == Any || uint32(r.RedOp) == c.redop) &&
		(r.Root == Any || uint32(r.Root) == c.root) && (r.Calls == 0 || c.group <= r.Calls) &&
		(r.When&WhenWindows == 0 || c.windows) && (r.When&WhenThen != 0) == c.then
}

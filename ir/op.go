package ir

import (
	"fmt"
	"math"
)

// An Op is what one instruction or one step does. Ops has a row for each.
type Op uint8

// The two-sided operations, and after them the one-sided. A comment gives what is
// true after the operation; recv is what the next message of the receive
// connection holds, and ⊕ the reduction of the call.
const (
	Nop                Op = iota // nothing: carries one more wait for the step after it
	Send                         // send(src)
	Recv                         // dst = recv
	RecvCopySend                 // dst = recv; send(recv)
	RecvReduceCopy               // dst = src ⊕ recv
	RecvReduceCopySend           // dst = src ⊕ recv; send(src ⊕ recv)
	RecvReduceSend               // send(src ⊕ recv)
	Copy                         // dst = src
	Reduce                       // dst = dst ⊕ src
	Move                         // every dst = src ⊕ src ⊕ ..., of any rank's memory
	Signal                       // adds one to each flag of dsts
	Await                        // until each flag of srcs has been signalled so often
	NumOps
)

// An OpInfo is the row of one operation: everything that the verifier, the
// formats, the kernel's header and the documentation need to know of it.
type OpInfo struct {
	Name     string // Go's name
	Mnemonic string // in MSCCL-IR XML and in our text forms
	Doc      string // a line of meaning

	Receives bool // consumes the next message of the block's receive connection
	Sends    bool // produces the next message of the block's send connection
	ReadsSrc bool // reads src in the rank's own memory
	ReadsDst bool // reads dst in the rank's own memory
	Writes   bool // writes dst in the rank's own memory
	Reduces  bool // combines two values with the reduction
	OneSided bool // its operands are rows of Program.Operands, on any rank; see OneSided

	// Moves says, of a one-sided operation, that its operands are runs of Count chunks: it reads its sources, and writes
	// its destinations. The operands of the others are flags.
	Moves bool

	Packets, Switch bool // of one that moves: chunks may be packets; operands may be of all ranks, by the switch

	Srcs, Dsts Operands // of a one-sided operation: how many sources and destinations a step may have

	// Release and Acquire say what a message orders beside its payload, where the
	// protocol has it that messages do (Protocol.Releases): all that the sending
	// block has seen or done is visible to who receives it, within a scope. That the
	// sender's earlier reads are over follows from any message, since a block's
	// threads synchronise before it sends. A step's flag, which any operation may raise
	// and await, releases and acquires within the device.
	Release, Acquire Scope
}

// Operands is a range of how many operands a step may have, from Min to Max.
type Operands struct{ Min, Max int16 }

// Hold reports whether n is in the range.
func (o Operands) Hold(n int16) bool { return o.Min <= n && n <= o.Max }

var some = Operands{1, math.MaxInt16}

// A Scope is how far an operation makes writes visible.
type Scope uint8

// The scopes. Two-sided operations need the system's: peers are other devices.
const (
	NoScope Scope = iota
	DeviceScope
	SystemScope
)

// Ops is the table of operations. Nothing else in mscclc lists them:
// kernels/abi/ops_gen.h and the tables of the documentation are generated from it.
var Ops = [NumOps]OpInfo{
	Nop:                {Name: "Nop", Mnemonic: "nop", Doc: "waits for one more flag on behalf of the next step"},
	Send:               {Name: "Send", Mnemonic: "s", Doc: "sends src", Sends: true, ReadsSrc: true, Release: SystemScope},
	Recv:               {Name: "Recv", Mnemonic: "r", Doc: "dst = received", Receives: true, Writes: true, Acquire: SystemScope},
	RecvCopySend:       {Name: "RecvCopySend", Mnemonic: "rcs", Doc: "dst = received, and sends it on", Receives: true, Sends: true, Writes: true, Release: SystemScope, Acquire: SystemScope},
	RecvReduceCopy:     {Name: "RecvReduceCopy", Mnemonic: "rrc", Doc: "dst = src ⊕ received", Receives: true, ReadsSrc: true, Writes: true, Reduces: true, Acquire: SystemScope},
	RecvReduceCopySend: {Name: "RecvReduceCopySend", Mnemonic: "rrcs", Doc: "dst = src ⊕ received, and sends it on", Receives: true, Sends: true, ReadsSrc: true, Writes: true, Reduces: true, Release: SystemScope, Acquire: SystemScope},
	RecvReduceSend:     {Name: "RecvReduceSend", Mnemonic: "rrs", Doc: "sends src ⊕ received, and keeps nothing", Receives: true, Sends: true, ReadsSrc: true, Reduces: true, Release: SystemScope, Acquire: SystemScope},
	Copy:               {Name: "Copy", Mnemonic: "cpy", Doc: "dst = src", ReadsSrc: true, Writes: true},
	Reduce:             {Name: "Reduce", Mnemonic: "re", Doc: "dst = dst ⊕ src", ReadsSrc: true, ReadsDst: true, Writes: true, Reduces: true},
	Move:               {Name: "Move", Mnemonic: "mv", Doc: "every dst = src ⊕ src ⊕ ..., anywhere", ReadsSrc: true, Writes: true, Reduces: true, OneSided: true, Moves: true, Packets: true, Switch: true, Srcs: some, Dsts: some},
	Signal:             {Name: "Signal", Mnemonic: "signal", Doc: "adds one to each flag of dsts", OneSided: true, Dsts: some, Release: SystemScope},
	Await:              {Name: "Await", Mnemonic: "wait", Doc: "waits for the flags of srcs", OneSided: true, Srcs: some, Acquire: SystemScope},
}

// Info returns the row of op.
func (op Op) Info() *OpInfo { return &Ops[op] }

// Moves reports whether op is a one-sided operation whose operands are chunks.
func (op Op) Moves() bool { return op < NumOps && Ops[op].Moves }

// String gives the mnemonic.
func (op Op) String() string {
	if op < NumOps {
		return Ops[op].Mnemonic
	}
	return "?"
}

// OpByMnemonic finds an operation by its mnemonic.
func OpByMnemonic(s string) (Op, bool) {
	for op := range Ops {
		if Ops[op].Mnemonic == s {
			return Op(op), true
		}
	}
	return 0, false
}

// A Buf is one of a rank's buffers in an InstDAG or a Program. In a ChunkDAG,
// Scratch and what follows it are the file's scratch buffers in their order.
type Buf uint8

// The buffers of a rank.
const (
	Input   Buf = iota
	Output      // one memory with Input where the collective is in place
	Scratch     // lives for one launch; of a one-sided program, for one pass
	Packets     // one-sided: slots that hold packets and nothing else, for one pass
	Flags       // one-sided: counters that Signal raises and Await awaits
	NoBuf   Buf = 0xff
)

// MaxMessageChunks is the largest number of chunks that one message holds,
// however small they are.
const MaxMessageChunks = 71

// WholeSteps is a number of chunks of a message that holds what any step sends, as programs have messages that were
// lowered to one-sided ones (passes/slots).
const WholeSteps = 1 << 30

// ChunkBytes returns the length of a chunk, rounded up, where a call has `bytes`
// bytes, as the collective counts them.
func (c *Collective) ChunkBytes(bytes int64) int64 {
	divisor := int64(max(1, c.Divisor()))
	return max(1, (bytes+divisor-1)/divisor)
}

// MessageChunks returns the number of chunks that one message holds where a call
// has `bytes` bytes, as the collective counts them, and a slot slotBytes. A
// transfer of more chunks takes several messages.
func (c *Collective) MessageChunks(bytes, slotBytes int64) int {
	return int(min(max(slotBytes/c.ChunkBytes(bytes), 1), MaxMessageChunks))
}

func (b Buf) String() string {
	switch b {
	case Input:
		return "input"
	case Output:
		return "output"
	case Scratch:
		return "scratch"
	case Packets:
		return "packets"
	case Flags:
		return "flags"
	case NoBuf:
		return "-"
	}
	return fmt.Sprintf("scratch+%d", b-Scratch)
}

package transport

import "fmt"

// This file is what builds without cgo have of the package, too.

// A Code says what kind of failure a Failure is.
type Code int

// The codes of failures, those of net_code in proxy.h.
const (
	EngineFailed Code = iota + 1 // the engine failed
	PeerGone                     // the connection to a peer has ended
	PeerSilent                   // nothing has come from a peer for too long
	PeerForeign                  // a peer has another version or another program
	Broken                       // a message that cannot be
	WrongState                   // a call that cannot be now
)

// A Failure is an error of a Proxy or a Job.
type Failure struct {
	Code    Code
	Process int    // the peer that caused it, or -1
	Text    string // one line, without the peer's number
}

// Error returns the text, with the peer's number before it.
func (f *Failure) Error() string {
	if f.Process < 0 {
		return f.Text
	}
	return fmt.Sprintf("process %d: %s", f.Process, f.Text)
}

// Properties are what an engine says of its device.
type Properties struct {
	Name        string  // of the device, or of the transports that were chosen
	ReachesCUDA bool    // whether it moves memory of GPUs
	GBytes      float64 // GB/s of the device, or 0 if unknown
}

// Together is how many replicas go in one message, and Inside how many bytes go with its header. More go in messages of
// their own, one for each run of memory that they fill.
const Together, Inside = 64, 8192

// A Segment is a run of chunks of scratch of the rank that is written. FirstClass is the class of its first chunk.
type Segment struct{ Index, Count, FirstClass uint32 }

// A Message is what a Signal of a block signals to a rank of another node: the data of Segments segments from First on,
// and a count. Operand is the Signal's destination, counted from the block's first operand.
type Message struct{ Block, Operand, Rank, First, Segments uint32 }

// A Program is what all processes of a job have alike. Messages are sorted by block and operand.
type Program struct {
	Messages                   []Message
	Segments                   []Segment
	Process, Node              []uint32 // indexed by rank
	RankOf                     []uint32 // indexed by block
	Replicas, Depth, Chunks    uint32
	Flags                      uint32   // of a rank in a replica
	ScratchStride, ScratchCopy uint64   // of inboxes: bytes from replica to replica, and from copy to copy of all
	Hash                       [32]byte // of all that peers must have alike
}

// A Memory is where a rank's inbox lies: of a rank of this process its own, of a rank of another node its mirror, which
// has no flags. Addresses of other ranks are 0. The memory is not Go's, and outlives the job.
type Memory struct{ Scratch, ScratchBytes, Flags, FlagBytes uint64 }

// A Lane is where a block's replica writes its rows: At is the address of an abi_net_lane, not in Go's memory. A block
// that has lanes has one of each replica, in their order.
type Lane struct {
	At             uint64
	Block, Replica uint32
}

// A Note says when a message was sent or received, in ns of CLOCK_MONOTONIC. One that is sent begins when the proxy
// takes its rows, and ends when the engine has sent all of it; one that is received begins when its header is there,
// and ends when its counts are stored. End is 0 until then. Count is that of Replica, the first of Replicas; Block and
// Operand are the message's, as in Message, and Flag is the one of Rank that is raised.
type Note struct {
	Begin, End                                             uint64
	Bytes, Count                                           uint64
	Process, Rank, Block, Operand, Flag, Replica, Replicas uint32
	Received                                               bool
}

// Counts are what a job has done so far. A message that was sent is that of all replicas; its data were Pieces, beside
// those that lay inside.
type Counts struct{ Sent, Received, SentBytes, ReceivedBytes, Beats, Pieces uint64 }

// Package launch has what the executor, package selection and simulations share: the replicas, threads and tile of a
// launch ([Width]), the defaults of these three, the limits of short launches (kernels/few), and traces. So a
// simulation does not need to link the executor.
package launch

import (
	"cmp"
	"time"
)

// A Width is how wide a program runs. The executor chooses what is 0.
type Width struct {
	Replicas int   `json:"replicas,omitempty"`
	Threads  int   `json:"threads,omitempty" doc:"of a thread block"`
	Tile     int64 `json:"tile,omitempty" doc:"bytes of a chunk that a replica moves in a tile iteration"`
}

// Or returns w, and where a number of it is 0 that of other.
func (w Width) Or(other Width) Width {
	return Width{cmp.Or(w.Replicas, other.Replicas), cmp.Or(w.Threads, other.Threads), cmp.Or(w.Tile, other.Tile)}
}

// The usual replicas of a one-sided program's launch and bytes of its tiles; and bytes of a two-sided program's tile,
// which keep what a block works on in a core's cache.
const (
	UsualReplicas    = 32
	PlanTile         = 64 << 10
	DefaultTileBytes = 128 << 10
)

// ReplicaBytes is how much of a chunk makes another replica worth it, and PortBytes where a port copies: its
// copies should be few and long.
const ReplicaBytes, PortBytes = 8 << 10, 8 << 20

// MostHostReplicas is how many replicas the CPU device makes memory for, where a call does not say.
const MostHostReplicas = 8

// Together is how many replicas go in one message between nodes, and Inside how many bytes go with its header. Package
// transport has them of its own, and a test of package simulate compares both.
const Together, Inside = 64, 8192

// A Trace records when the steps of a run began and ended. Whoever puts one into a
// call's Args finds it filled in when Run returns, whether or not the run came to
// its end.
type Trace struct {
	Spans []Span // by block, replica, pass and step in their order

	// Passes are recorded, from the first, of the Of that the launch had.
	Passes, Of int64

	// Messages are what the ranks of this process sent to other nodes and received from there, in those passes, in the
	// order of their beginnings.
	Messages []Message
}

// A Span is one step in one pass of one replica, or of a two-sided program one
// message of a step. Times count from the first begin on the same device.
type Span struct {
	Step          int32 // of Program.Steps
	Replica       int32
	Pass          int64
	Message       int32
	Begin, Length time.Duration
	Waited        time.Duration // of Length, before it had all that it waits for; only simulations know
}

// A Message is what the network carried between a rank of this process and one of another node: data, and the counts of
// a Signal for some replicas.
type Message struct {
	Rank, Peer        int32 // of this process, and at the other end
	Step              int32 // of Program.Steps: the Signal, of whichever of the two sends
	Replica, Replicas int32 // the first replica, and how many
	Pass              int64
	Received          bool
	Bytes             int64 // of data

	// When the proxy took what the Signal wrote, until all was sent; or when the message's beginning was here, until the
	// counts were stored. Times are of the clock of the rank's spans, by a guess: see TakeTrace. Length is 0 of a message
	// that was not over.
	Begin, Length time.Duration
}

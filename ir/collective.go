package ir

import "fmt"

// A Kind is one of the collectives that mscclc knows.
type Kind uint8

// The collectives. Custom has a post-condition of its own; Opaque is a custom
// collective read from a format that does not say what must hold at the end.
const (
	AllReduce Kind = iota
	AllGather
	ReduceScatter
	AllToAll
	Broadcast
	ReduceTo
	Gather
	Scatter
	SendRecv
	Custom
	Opaque
	NumKinds
)

var kindNames = [NumKinds]string{"allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce",
	"gather", "scatter", "sendrecv", "custom", "opaque"}

func (k Kind) String() string { return kindNames[k] }

// Reduces reports whether a collective reduces what ranks have.
func (k Kind) Reduces() bool { return k == AllReduce || k == ReduceScatter || k == ReduceTo }

// Rooted reports whether collectives of kind k have a root.
func (k Kind) Rooted() bool { return k == Broadcast || k == ReduceTo || k == Gather || k == Scatter }

// KindByName finds a collective by its name in the language.
func KindByName(s string) (Kind, bool) {
	for k, name := range kindNames {
		if name == s && Kind(k) != Opaque {
			return Kind(k), true
		}
	}
	return 0, false
}

// A Part is one chunk of one rank's initial input.
type Part struct{ Rank, Index int32 }

// A Collective says what every rank has at the start and must have at the end.
// Its buffers are *pieces* of Chunks chunks each: one piece, or one a rank.
// The class of a chunk is its index within its piece; chunks of one class have
// one length in bytes, and no class is longer than one before it.
type Collective struct {
	Kind    Kind
	Ranks   int
	Chunks  int     // of a piece
	Root    int     // Broadcast, ReduceTo, Gather, Scatter
	Peer    []int32 // SendRecv: Peer[r] receives what r has
	Inplace bool    // input and output are one memory

	// Custom and Opaque: the chunks of each rank's buffers. Chunks is the larger.
	// PerRank, where not nil, has {input, output} of each rank instead (files may
	// give every rank its own).
	In, Out int
	PerRank [][2]int32

	// Custom: what output chunk (rank, index) must hold, as a multiset of parts,
	// sorted; chunks that are no key may hold anything.
	Require map[Part][]Part
}

// Pieces returns the number of pieces in rank's input and output.
func (c *Collective) Pieces(rank int) (in, out int) {
	root := func(n int) int {
		if rank == c.Root {
			return n
		}
		return 0
	}
	switch c.Kind {
	case AllReduce, SendRecv:
		return 1, 1
	case AllGather:
		return 1, c.Ranks
	case ReduceScatter:
		return c.Ranks, 1
	case AllToAll:
		return c.Ranks, c.Ranks
	case Broadcast:
		return root(1), 1
	case ReduceTo:
		return 1, root(1)
	case Gather:
		return 1, root(c.Ranks)
	case Scatter:
		return root(c.Ranks), 1
	}
	return 1, 1
}

// InChunks returns the number of chunks in rank's input.
func (c *Collective) InChunks(rank int) int {
	switch c.Kind {
	case Custom, Opaque:
		if c.PerRank != nil {
			return int(c.PerRank[rank][0])
		}
		return c.In
	}
	in, _ := c.Pieces(rank)
	return in * c.Chunks
}

// OutChunks returns the number of chunks in rank's output.
func (c *Collective) OutChunks(rank int) int {
	switch c.Kind {
	case Custom, Opaque:
		if c.PerRank != nil {
			return int(c.PerRank[rank][1])
		}
		return c.Out
	}
	_, out := c.Pieces(rank)
	return out * c.Chunks
}

// Class returns the class of chunk index of an input or an output.
func (c *Collective) Class(index int) int {
	if c.Chunks <= 1 {
		return 0
	}
	return index % c.Chunks
}

// Divisor returns the number of chunks that a call's bytes, as nccl-tests counts
// them, are divided by: MSCCL-IR's nchunksperloop.
func (c *Collective) Divisor() int {
	switch c.Kind {
	case AllGather, ReduceScatter, AllToAll, Gather, Scatter:
		return c.Ranks * c.Chunks
	case Opaque, Custom:
		return max(c.In, c.Out, c.Chunks)
	}
	return c.Chunks
}

// Shift says where rank's input begins in its output (inOut >= 0) or its
// output in its input (outIn >= 0) when the collective is in place; the other
// of the two is -1. Both buffers of equal layout give inOut = 0.
func (c *Collective) Shift(rank int) (inOut, outIn int) {
	switch c.Kind {
	case AllGather:
		return rank * c.Chunks, -1
	case Gather:
		if rank == c.Root {
			return rank * c.Chunks, -1
		}
		return 0, -1
	case ReduceScatter:
		return -1, rank * c.Chunks
	case Scatter:
		if rank == c.Root {
			return -1, rank * c.Chunks
		}
		return -1, 0
	}
	if c.InChunks(rank) > c.OutChunks(rank) {
		return -1, 0
	}
	return 0, -1
}

// Want says what rank's output chunk must hold at the end.
type Want struct {
	Any  bool   // anything
	Sum  bool   // the reduction of chunk Part.Index of all ranks' inputs
	Part Part   // where not Sum and List is nil: this one chunk
	List []Part // Custom: the reduction of these, sorted
}

// Want returns what chunk index of rank's output must hold.
func (c *Collective) Want(rank, index int) Want {
	piece, inner := 0, index
	if c.Chunks > 0 {
		piece, inner = index/c.Chunks, index%c.Chunks
	}
	switch c.Kind {
	case AllReduce, ReduceTo:
		return Want{Sum: true, Part: Part{0, int32(index)}}
	case ReduceScatter:
		return Want{Sum: true, Part: Part{0, int32(rank*c.Chunks + index)}}
	case AllGather, Gather:
		return Want{Part: Part{int32(piece), int32(inner)}}
	case AllToAll:
		return Want{Part: Part{int32(piece), int32(rank*c.Chunks + inner)}}
	case Broadcast:
		return Want{Part: Part{int32(c.Root), int32(index)}}
	case Scatter:
		return Want{Part: Part{int32(c.Root), int32(rank*c.Chunks + index)}}
	case SendRecv:
		for from, to := range c.Peer {
			if int(to) == rank {
				return Want{Part: Part{int32(from), int32(index)}}
			}
		}
	case Custom:
		if list, ok := c.Require[Part{int32(rank), int32(index)}]; ok {
			if len(list) == 1 {
				return Want{Part: list[0]}
			}
			return Want{List: list}
		}
	}
	return Want{Any: true}
}

// Wants returns what chunk index of rank's output must hold, and of how many chunks from there on it says what they
// must hold: chunk Part.Index + k of the same inputs, or, where that counts beyond the end of a rank's input, of the
// next one's.
func (c *Collective) Wants(rank, index int) (w Want, n int) {
	w, n = c.Want(rank, index), c.OutChunks(rank)-index
	switch c.Kind {
	case Custom:
		n = 1
	case AllToAll:
		n = c.Chunks - index%c.Chunks
	}
	return w, n
}

// AllowsAnything reports whether every chunk of every output may hold anything at the end: whoever states c requires
// nothing. Of an Opaque collective nothing is stated.
func (c *Collective) AllowsAnything() bool {
	for rank := range c.Ranks {
		for index := range c.OutChunks(rank) {
			if c.Kind == Opaque || !c.Want(rank, index).Any {
				return false
			}
		}
	}
	return c.Kind != Opaque
}

// Reduces reports whether the collective sums at all.
func (c *Collective) Reduces() bool {
	switch c.Kind {
	case AllReduce, ReduceScatter, ReduceTo:
		return true
	case Custom:
		for _, list := range c.Require {
			if len(list) > 1 {
				return true
			}
		}
	case Opaque:
		return true
	}
	return false
}

// SumsKnown reports whether the collective sums, and says which sums are complete, so that avg can divide these.
func (c *Collective) SumsKnown() bool { return c.Kind != Opaque && c.Reduces() }

// HasRows reports whether a program of c may have an epilogue: each output that is wanted is a sum of all ranks.
func (c *Collective) HasRows() bool {
	return c.Kind == AllReduce || c.Kind == ReduceScatter || c.Kind == ReduceTo
}

func (c *Collective) String() string {
	place := ""
	if c.Inplace {
		place = " inplace"
	}
	return fmt.Sprintf("%s ranks=%d chunks=%d%s", c.Kind, c.Ranks, c.Chunks, place)
}

func (p Part) String() string { return fmt.Sprintf("in[%d][%d]", p.Rank, p.Index) }

// GCD returns the greatest common divisor of two numbers that are not negative.
func GCD(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// BusFactor returns the ratio of the bus bandwidth to the algorithm bandwidth, as nccl-tests defines it. It is 1 for
// collectives that nccl-tests does not know.
func (c *Collective) BusFactor() float64 {
	n := float64(c.Ranks)
	switch c.Kind {
	case AllReduce:
		return 2 * (n - 1) / n
	case AllGather, ReduceScatter, AllToAll, Gather, Scatter:
		return (n - 1) / n
	}
	return 1
}

// Called returns c as calls in place, or out of place, see it.
func (c *Collective) Called(inplace bool) *Collective {
	q := *c
	q.Inplace = inplace
	return &q
}

// InputOnly reports whether some of n chunks of rank's input, from index on, are not output too.
func (c *Collective) InputOnly(rank int, index, n int32) bool {
	if !c.Inplace {
		return true
	}
	inOut, outIn := c.Shift(rank)
	first := max(outIn, 0)
	end := min(c.InChunks(rank), first+c.OutChunks(rank)-max(inOut, 0))
	return int(index) < first || int(index+n) > end
}

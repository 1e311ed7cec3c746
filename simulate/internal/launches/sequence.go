package launches

import "mscclc/simulate/internal/events"

// A Sequence has each rank's launches follow each other: a launch begins when all blocks of the one before have ended,
// but those that no launch waits for.
type Sequence struct {
	ranks []rankLaunch
	first int32 // of the things that blocks wait for, rank 0's next launch
}

// A rankLaunch is how far a rank is with its launch.
type rankLaunch struct {
	blocks, left int32   // that the launch waits for, and of these, those that have not ended
	end          float64 // of the blocks that have
}

// NewSequence returns the sequence of ranks. first is the first of as many things as ranks, which blocks wait for.
func NewSequence(ranks int, first int32) Sequence { return Sequence{make([]rankLaunch, ranks), first} }

// Ranks returns the number of ranks.
func (q *Sequence) Ranks() int { return len(q.ranks) }

// Add has the launches of a rank wait for one more block.
func (q *Sequence) Add(rank int32) {
	r := &q.ranks[rank]
	r.blocks, r.left = r.blocks+1, r.left+1
}

// Ends has a block of a rank end its part of a launch at a time, and says when it begins the next, which costs launch.
func (q *Sequence) Ends(e *events.Engine, rank int32, at, launch float64) events.Verdict {
	r := &q.ranks[rank]
	r.end = max(r.end, at)
	if r.left--; r.left > 0 {
		return events.Wait(q.first+rank, at)
	}
	r.left = r.blocks
	begins := r.end + launch
	e.Wake(q.first+rank, begins)
	return events.GoOn(begins)
}

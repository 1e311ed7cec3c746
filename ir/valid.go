package ir

import "fmt"

// maxRanks bounds what is kept for each rank before any chunk is counted.
const maxRanks = 1 << 20

// MaxSendRecv bounds the ranks of a sendrecv, since Want looks for who sends to
// a rank among all of them.
const MaxSendRecv = 1 << 14

// Valid says what is wrong with c, or "": a field out of its range, or more
// than limit chunks in the buffers of all ranks. What it accepts, every other
// method can work with.
func (c *Collective) Valid(limit int) string {
	switch {
	case c.Kind >= NumKinds:
		return "the collective is of no kind"
	case c.Ranks < 1 || c.Ranks > maxRanks:
		return fmt.Sprintf("a collective has 1 to %d ranks, and not %d", maxRanks, c.Ranks)
	case c.Kind == SendRecv && c.Ranks > MaxSendRecv:
		return fmt.Sprintf("a sendrecv has up to %d ranks, and not %d", MaxSendRecv, c.Ranks)
	case c.Chunks < 1 && c.Kind != Opaque && c.Kind != Custom || c.Chunks < 0 || c.Chunks > limit:
		return fmt.Sprintf("a collective has 1 to %d chunks, and not %d", limit, c.Chunks)
	case c.Root < 0 || c.Root >= c.Ranks:
		return fmt.Sprintf("the root is rank %d of %d", c.Root, c.Ranks)
	case c.In < 0 || c.Out < 0 || c.In > limit || c.Out > limit:
		return fmt.Sprintf("a rank has 0 to %d chunks", limit)
	case c.PerRank != nil && len(c.PerRank) != c.Ranks:
		return fmt.Sprintf("the buffers of %d ranks are given, and there are %d", len(c.PerRank), c.Ranks)
	}
	if c.Kind == SendRecv {
		seen := make([]bool, c.Ranks)
		for _, r := range c.Peer {
			if r < 0 || int(r) >= c.Ranks || seen[r] {
				return "peer is no permutation of the ranks"
			}
			seen[r] = true
		}
		if len(c.Peer) != c.Ranks {
			return "peer is no permutation of the ranks"
		}
	}
	total := 0
	for r := range c.Ranks {
		if c.PerRank != nil && (c.PerRank[r][0] < 0 || c.PerRank[r][1] < 0) {
			return "a rank has fewer than 0 chunks"
		}
		if total += c.InChunks(r) + c.OutChunks(r); total > limit {
			return fmt.Sprintf("the buffers of all ranks have more than %d chunks", limit)
		}
	}
	return ""
}

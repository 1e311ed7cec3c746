package ir

// A Split says how one chunk of an author becomes several: each piece is cut
// into Ways runs of all its chunks (Blocked: sub-chunk w of chunk i is
// w*Chunks + i), or each chunk into Ways (else: i*Ways + w).
type Split struct {
	Ways    int
	Blocked bool
}

// Index returns the sub-chunk w of chunk index in a buffer of pieces of n chunks.
func (s Split) Index(index, w, n int) int {
	if s.Blocked {
		piece, inner := index/n, index%n
		return piece*n*s.Ways + w*n + inner
	}
	return index*s.Ways + w
}

// Refine returns the collective of the sub-chunks that s makes. Custom
// collectives whose buffers differ in length cannot be split Blocked.
func (c *Collective) Refine(s Split) *Collective {
	if s.Ways == 1 {
		return c
	}
	r := *c
	r.Chunks, r.In, r.Out = c.Chunks*s.Ways, c.In*s.Ways, c.Out*s.Ways
	if c.PerRank != nil {
		r.PerRank = make([][2]int32, len(c.PerRank))
		for i, p := range c.PerRank {
			r.PerRank[i] = [2]int32{p[0] * int32(s.Ways), p[1] * int32(s.Ways)}
		}
	}
	if c.Require != nil {
		r.Require = make(map[Part][]Part, len(c.Require)*s.Ways)
		for out, list := range c.Require {
			for w := range s.Ways {
				sub := func(p Part) Part { return Part{p.Rank, int32(s.Index(int(p.Index), w, c.Chunks))} }
				fine := make([]Part, len(list))
				for i, p := range list {
					fine[i] = sub(p)
				}
				r.Require[sub(out)] = fine
			}
		}
	}
	return &r
}

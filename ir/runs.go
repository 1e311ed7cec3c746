package ir

import "math/bits"

// Runs divides the numbers from 0 to n-1, which are cells of memory as a rule, into runs of neighbours. What is known
// of a run is kept by its owner in an array, at the run's first number, so that a run of a million chunks costs no
// more than one chunk, and chunks that have nothing in common cost little more than an array does.
//
// Level 0 has a bit for each number that begins a run. Each further level has a bit for each word of the level below
// that has any, so that every look for a neighbouring bit takes a few words, however long the runs are.
type Runs struct {
	n      int
	levels [][]uint64
}

// NewRuns returns the numbers below n as one run.
func NewRuns(n int) *Runs {
	r := &Runs{n: n}
	for words := (n + 63) / 64; ; words = (words + 63) / 64 {
		r.levels = append(r.levels, make([]uint64, max(words, 1)))
		if words <= 1 {
			break
		}
	}
	r.set(0)
	return r
}

// Begins reports whether a run begins at c.
func (r *Runs) Begins(c int) bool { return r.levels[0][c>>6]>>(c&63)&1 != 0 }

// First returns the first number of the run that c lies in.
func (r *Runs) First(c int) int {
	if word := r.levels[0][c>>6] << (63 - c&63); word != 0 {
		return c - bits.LeadingZeros64(word)
	}
	return r.before(c >> 6)
}

// before returns the last number that begins a run in a word of level 0 before word w. There is one: 0 begins a run.
func (r *Runs) before(w int) int {
	k := 1
	for ; r.levels[k][w>>6]&(1<<(w&63)-1) == 0; k++ {
		w >>= 6
	}
	at := w&^63 + 63 - bits.LeadingZeros64(r.levels[k][w>>6]&(1<<(w&63)-1))
	for k--; k >= 0; k-- {
		at = at<<6 + 63 - bits.LeadingZeros64(r.levels[k][at])
	}
	return at
}

// End returns the first number after the run that c lies in.
func (r *Runs) End(c int) int {
	if word := r.levels[0][c>>6] >> (c & 63) >> 1; word != 0 {
		return c + 1 + bits.TrailingZeros64(word)
	}
	return r.after(c >> 6)
}

// after returns the first number that begins a run in a word of level 0 after word w, or n.
func (r *Runs) after(w int) int {
	for k := 1; k < len(r.levels); k++ {
		if word := r.levels[k][w>>6] >> (w & 63) >> 1; word != 0 {
			at := w + 1 + bits.TrailingZeros64(word)
			for k--; k >= 0; k-- {
				at = at<<6 + bits.TrailingZeros64(r.levels[k][at])
			}
			return at
		}
		w >>= 6
	}
	return r.n
}

// Cut lets a run begin at c, which may be n, and returns the first number of the run that c was in the midst of; or -1
// where c began a run already. The owner then says at c what holds from there on.
func (r *Runs) Cut(c int) int {
	if c >= r.n || r.Begins(c) {
		return -1
	}
	first := r.First(c)
	r.set(c)
	return first
}

// Join makes one run of the numbers from first to end, at both of which runs begin.
func (r *Runs) Join(first, end int) {
	for at := r.End(first); at < end; at = r.End(first) {
		bits := ^uint64(0) << (at & 63)
		if last := at | 63; end <= last {
			bits &= 1<<(end&63) - 1
		}
		r.clear(at>>6, bits)
	}
}

// Merge lets the run that begins at c belong to the run before it.
func (r *Runs) Merge(c int) { r.clear(c>>6, 1<<(c&63)) }

func (r *Runs) set(c int) {
	for _, level := range r.levels {
		had := level[c>>6]
		level[c>>6] = had | 1<<(c&63)
		if had != 0 {
			return
		}
		c >>= 6
	}
}

// clear takes some bits off a word of level 0.
func (r *Runs) clear(w int, bits uint64) {
	for _, level := range r.levels {
		if level[w] &^= bits; level[w] != 0 {
			return
		}
		w, bits = w>>6, 1<<(w&63)
	}
}

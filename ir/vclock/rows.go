// Package vclock has vector clocks for very many thread blocks. A clock belongs to one block. For each other block, the
// clock holds a count: how many of that block's actions happen before the current action of the clock's block.
//
// Clocks is for the blocks of one rank. Its clocks are trees, which share equal parts. A Pool is for the blocks of all
// ranks. Its clocks are rows with a count for each block: those of the first block of each rank, then those of the
// second block of each rank, and so on. In most programs, a rank does the same steps
// as the rank before it, a constant number of steps later or earlier. So in long parts of a row, each count differs
// from the one before by the same number, as in 4, 7, 10, 13. Such a part is a run.
//
// A row is cut into pieces. A piece with few runs is kept as runs, and any other piece as a list of counts. Rows with
// the same counts share pieces. So the time to merge two rows depends on the number of runs in the pieces that differ,
// and not on the number of counts.
package vclock

import "math/bits"

// A Pool makes rows of one length. It reuses the memory of rows that have no users any more. Only one goroutine at a
// time may use a Pool and its rows.
type Pool struct {
	Work    int64 // the time that Largest took, in units of some ten nanoseconds; callers bound it
	Entries int64 // the memory of the rows in use, in words of four bytes

	n      int32 // counts of a piece
	count  int   // pieces of a row
	most   int   // the most runs of a piece
	zeros  []run
	rows   []*Row // unused rows, and below unused pieces and lists
	pieces []*piece
	lists  [][]int32
	writer writer
}

// Within returns, indexed by rank, the position of the rank among those of its node, from 0. node is the node of each
// of n ranks. If node is nil, all positions are 0. Lanes talk to ranks with the same position on other nodes. If the
// counts of a row are sorted by position, these ranks are neighbours, and the row has few runs.
func Within(node []int32, n int32) []int32 {
	within, of := make([]int32, n), map[int32]int32{}
	for r, x := range node {
		within[r] = of[x]
		of[x]++
	}
	return within
}

// A piece has at least leastPiece counts, and a row at most mostPieces pieces.
const leastPiece, mostPieces = 64, 64

// NewPool returns a Pool of rows of n counts. Any even counts in sequence are those of even different ranks.
func NewPool(n, even int32) *Pool {
	n, even = max(n, 1), max(even, 1)
	size := even * max((leastPiece+even-1)/even, (n/even+mostPieces)/mostPieces)
	size = min(size, n)
	return &Pool{n: size, count: int((n + size - 1) / size), most: int(max(4, size/16)), zeros: []run{{end: size}}}
}

// A Row has counts, each 0 or more. A nil Row has zeros. A row counts its users, and changes only while it has one
// user.
type Row struct {
	pieces []*piece
	size   int32 // of a piece
	users  int32
}

// At returns count k.
func (r *Row) At(k int32) int32 {
	switch {
	case r == nil:
		return 0
	case len(r.pieces) == 1:
		return r.pieces[0].at(k)
	}
	return r.pieces[k/r.size].at(k % r.size)
}

// Share adds a user to r, and returns r.
func (r *Row) Share() *Row {
	if r != nil {
		r.users++
	}
	return r
}

// Drop removes a user from r.
func (p *Pool) Drop(r *Row) {
	if r == nil {
		return
	}
	if r.users--; r.users == 0 {
		for i, x := range r.pieces {
			p.drop(x)
			r.pieces[i] = nil
		}
		p.rows = append(p.rows, r)
	}
}

// Largest merges a and b: each count of the result is the larger one of a's and b's, and count k is at least n. The
// caller stops being a user of a, and becomes one of the result. b stays as it is.
func (p *Pool) Largest(a, b *Row, k, n int32) *Row {
	switch {
	case (b == nil || b == a) && a.At(k) >= n:
		return a
	case a == nil && b.At(k) >= n:
		return b.Share()
	}
	to := p.own(a)
	own := int(k / p.n)
	if b == nil || a == b {
		to.pieces[own] = p.largest(to.pieces[own], nil, k%p.n, n)
		return to
	}
	same := true // to has the pieces of b
	for i, x := range b.pieces {
		switch {
		case i == own:
			to.pieces[i] = p.largest(to.pieces[i], x, k%p.n, n)
		case to.pieces[i] != x:
			to.pieces[i] = p.largest(to.pieces[i], x, -1, 0)
		}
		same = same && to.pieces[i] == x
	}
	if same {
		p.Drop(to)
		return b.Share()
	}
	return to
}

// All means all parts of a row.
const All = ^uint64(0)

// Part returns the part of a row that has count k, as a bit. A row has at most 64 parts: its pieces.
func (p *Pool) Part(k int32) uint64 { return 1 << (k / p.n) }

// Parts returns how many parts a row has.
func (p *Pool) Parts() int { return p.count }

// LargestOf is Largest if only some parts of the result matter. Counts of other parts are at most those of Largest.
func (p *Pool) LargestOf(a, b *Row, k, n int32, parts uint64) *Row {
	switch {
	case parts == All || a == nil && b.At(k) >= n:
		return p.Largest(a, b, k, n)
	case parts&p.Part(k) == 0:
		k, n = 0, 0
	}
	if a.At(k) >= n && (b == nil || a == b || a != nil && !p.differ(a, b, parts)) {
		return a
	}
	to := p.own(a)
	for left := parts & (All >> (64 - p.count)); left != 0; left &= left - 1 {
		i := int32(bits.TrailingZeros64(left))
		var x *piece
		if b != nil {
			x = b.pieces[i]
		}
		if i == k/p.n {
			to.pieces[i] = p.largest(to.pieces[i], x, k%p.n, n)
		} else if to.pieces[i] != x {
			to.pieces[i] = p.largest(to.pieces[i], x, -1, 0)
		}
	}
	return to
}

// differ reports whether a and b have different pieces in some of parts.
func (p *Pool) differ(a, b *Row, parts uint64) bool {
	for left := parts & (All >> (64 - p.count)); left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		if a.pieces[i] != b.pieces[i] {
			return true
		}
	}
	return false
}

// own returns r, or a copy, with one user, who may change it. The caller stops being a user of r.
func (p *Pool) own(r *Row) *Row {
	if r != nil && r.users == 1 {
		return r
	}
	var to *Row
	if n := len(p.rows); n > 0 {
		to = p.rows[n-1]
		p.rows = p.rows[:n-1]
		to.users = 1
	} else {
		to = &Row{pieces: make([]*piece, p.count), size: p.n, users: 1}
	}
	if r != nil {
		for i, x := range r.pieces {
			to.pieces[i] = x.share()
		}
		p.Drop(r)
	}
	return to
}

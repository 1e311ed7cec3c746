// Package vclock keeps vector clocks of very many blocks, which say what each block knows of all others. Clocks are
// trees that share what is alike, for the blocks of one rank. A Pool has rows of counts, for all ranks. Ranks mostly do
// the same one after the other, so that the counts of a row rise or fall evenly over long runs. Counts of few runs are
// kept as these, and any others as a list. Where ranks have several blocks, a row has pieces of counts for some blocks
// of each rank, which rows that know the same have in common. To find the larger counts of two rows then takes as long
// as the pieces in which they differ have runs, and not as they have counts.
package vclock

import "math/bits"

// A Pool makes rows of one length, and uses their memory again when they have no users any more. One goroutine at a
// time uses a Pool and its rows.
type Pool struct {
	Work    int64 // time that Largest took, in units of some ten nanoseconds, by which a caller bounds it
	Entries int64 // memory of the rows in use, in words of four bytes

	n      int32 // counts of a piece
	count  int   // of the pieces of a row
	most   int   // the most runs that a piece may have
	zeros  []run
	rows   []*Row // unused, as are pieces and lists
	pieces []*piece
	lists  [][]int32
	writer writer
}

// Within returns the place of each of n ranks among those of its node; all places are 0 where node is nil. Lanes talk
// to the ranks of one place on other nodes. Counts of ranks sorted by place have these side by side, in few runs.
func Within(node []int32, n int32) []int32 {
	within, of := make([]int32, n), map[int32]int32{}
	for r, x := range node {
		within[r] = of[x]
		of[x]++
	}
	return within
}

// Pieces have leastPiece counts or more, and a row has mostPieces pieces or fewer.
const leastPiece, mostPieces = 64, 64

// NewPool returns a Pool of rows of n counts, of which any even that follow each other are of as many ranks.
func NewPool(n, even int32) *Pool {
	n, even = max(n, 1), max(even, 1)
	size := even * max((leastPiece+even-1)/even, (n/even+mostPieces)/mostPieces)
	size = min(size, n)
	return &Pool{n: size, count: int((n + size - 1) / size), most: int(max(4, size/16)), zeros: []run{{end: size}}}
}

// A Row has counts from 0 up. nil is a row of zeros. A row counts its users, and changes only while it has one.
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

// Share returns r for one more user.
func (r *Row) Share() *Row {
	if r != nil {
		r.users++
	}
	return r
}

// Drop takes note that a user of r needs it no more.
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

// Largest returns the row of the larger counts of a and b, whose count k is at least n. The caller gives up one use of
// a for one of the result. b stays as it is.
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
	same := true // as b
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

// All is all parts of a row.
const All = ^uint64(0)

// Part is the part of a row that has count k, as a bit. Rows have at most 64 parts.
func (p *Pool) Part(k int32) uint64 { return 1 << (k / p.n) }

// Parts is how many parts a row has.
func (p *Pool) Parts() int { return p.count }

// LargestOf is Largest where only some parts of the result are asked for. The others are no larger than those of
// Largest.
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

// differ says whether some parts of two rows are not the same.
func (p *Pool) differ(a, b *Row, parts uint64) bool {
	for left := parts & (All >> (64 - p.count)); left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		if a.pieces[i] != b.pieces[i] {
			return true
		}
	}
	return false
}

// own returns r for one user, who gives up a use of r and may change the result.
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

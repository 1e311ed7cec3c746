package fifo

import (
	"cmp"
	"math/bits"
)

// A bitQueue is a set of numbers below n that gives its least. Each level of
// words says which words of the level below have any bit.
type bitQueue struct{ levels [][]uint64 }

func newBitQueue(n int) *bitQueue {
	q := &bitQueue{}
	for {
		n = (n + 63) / 64
		q.levels = append(q.levels, make([]uint64, max(n, 1)))
		if n <= 1 {
			return q
		}
	}
}

func (q *bitQueue) push(x int32) {
	for _, level := range q.levels {
		w, bit := x/64, uint64(1)<<(x%64)
		had := level[w]
		level[w] = had | bit
		if had != 0 {
			return
		}
		x = w
	}
}

// pop takes the least number out; -1 is an empty queue.
func (q *bitQueue) pop() int32 {
	top := len(q.levels) - 1
	if q.levels[top][0] == 0 {
		return -1
	}
	x := int32(0)
	for k := top; k >= 0; k-- {
		x = x*64 + int32(bits.TrailingZeros64(q.levels[k][x]))
	}
	for at, k := x, 0; k <= top; k++ {
		q.levels[k][at/64] &^= 1 << (at % 64)
		if q.levels[k][at/64] != 0 {
			break
		}
		at /= 64
	}
	return x
}

// A bitSet is a set of numbers.
type bitSet []uint64

// words calls f with each word that has some of the n numbers from first on, and with their bits in it, until f returns
// false.
func (s bitSet) words(first, n int, f func(w *uint64, bits uint64) bool) {
	for at, end := first, first+n; at < end; at = at&^63 + 64 {
		bits := ^uint64(0) << (at & 63)
		if last := at&^63 + 64; end < last {
			bits &= 1<<(end&63) - 1
		}
		if !f(&s[at/64], bits) {
			return
		}
	}
}

// fill puts the n numbers from first on into the set, or takes them out.
func (s bitSet) fill(first, n int, in bool) {
	s.words(first, n, func(w *uint64, bits uint64) bool {
		if *w |= bits; !in {
			*w &^= bits
		}
		return true
	})
}

// any reports whether some of the n numbers from first on are in the set.
func (s bitSet) any(first, n int) (found bool) {
	s.words(first, n, func(w *uint64, bits uint64) bool {
		found = *w&bits != 0
		return !found
	})
	return found
}

// A minHeap is a heap of priorities, the lowest first.
type minHeap[T cmp.Ordered] []T

func (h *minHeap[T]) push(x T) {
	a := append(*h, x)
	i := len(a) - 1
	for i > 0 {
		p := (i - 1) / 2
		if a[p] <= x {
			break
		}
		a[i] = a[p]
		i = p
	}
	a[i] = x
	*h = a
}

func (h *minHeap[T]) pop() T {
	a := *h
	top, x := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	if len(a) == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(a) {
			break
		}
		if c+1 < len(a) && a[c+1] < a[c] {
			c++
		}
		if a[c] >= x {
			break
		}
		a[i] = a[c]
		i = c
	}
	a[i] = x
	return top
}

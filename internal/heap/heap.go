// Package heap has a priority queue of numbers, for simulations and searches. It is faster than container/heap, which
// compares by an interface. The package imports nothing.
package heap

// An Item is a number with its priority, such as a block and the time at which it acts.
type Item struct {
	At float64
	Of int32
}

// before orders items by At, and those of one At by their numbers, so that a result is the same each time.
func (a Item) before(b Item) bool { return a.At < b.At || a.At == b.At && a.Of < b.Of }

// A Heap holds its first Item at index 0. Each Item has four children, which is faster than two.
type Heap []Item

// Push adds x.
func (q *Heap) Push(x Item) {
	h := append(*q, x)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !x.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = x
	*q = h
}

// Pop takes the first Item away.
func (q *Heap) Pop() {
	h := *q
	last := h[len(h)-1]
	*q = h[:len(h)-1]
	if len(*q) > 0 {
		q.Replace(last)
	}
}

// Replace puts x in the place of the first Item, and restores the order.
func (q *Heap) Replace(x Item) {
	h := *q
	i := 0
	for {
		least := i*4 + 1
		if least >= len(h) {
			break
		}
		for k := least + 1; k < min(i*4+5, len(h)); k++ {
			if h[k].before(h[least]) {
				least = k
			}
		}
		if !h[least].before(x) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = x
}

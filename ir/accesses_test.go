package ir

import (
	"math/rand"
	"slices"
	"testing"
)

// TestAccesses compares Accesses with lists of every cell's own.
func TestAccesses(t *testing.T) {
	for seed := range int64(300) {
		rnd := rand.New(rand.NewSource(seed))
		n := 1 + rnd.Intn(300)
		a := NewAccesses(n)
		writer, readers := make([]int32, n), make([][]int32, n)
		for k := range writer {
			writer[k] = -1
		}
		for step := range int32(200) {
			cell := rnd.Intn(n)
			end := min(n, cell+1+rnd.Intn(1+rnd.Intn(n)))
			a.Cut(cell, end-cell)
			for k := cell; k < end; k = a.End(k) {
				var got []int32
				a.Readers(k, func(s int32) { got = append(got, s) })
				for c := k; c < a.End(k); c++ {
					if a.Writer(k) != writer[c] || a.HasReader(k) != (readers[c] != nil) || !slices.Equal(got, readers[c]) {
						t.Fatalf("seed %d, step %d: cell %d was written by %d and read by %v, not %d and %v", seed, step, c, a.Writer(k),
							got, writer[c], readers[c])
					}
				}
				if step%3 > 0 {
					a.Read(step, k)
					a.Read(step, k)
				}
			}
			for c := cell; c < end; c++ {
				if step%3 > 0 {
					readers[c] = slices.Insert(readers[c], 0, step)
				} else {
					writer[c], readers[c] = step, nil
				}
			}
			if step%3 == 0 {
				a.Write(step, cell, end-cell)
			}
		}
	}
}

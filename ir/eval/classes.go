package eval

import "mscclc/ir"

// Classes are those of what cells hold. They count on within a run, and begin anew after the last class.
type Classes struct {
	chunks int // how many classes there are
	runs   *ir.Runs
	class  []int32 // of the first cell of a run, or noClass
}

// noClass is the class of what nothing has written.
const noClass = -1

// NewClasses returns the classes of n cells of c's memory, before anything is written.
func NewClasses(c *ir.Collective, n int) *Classes {
	k := &Classes{chunks: max(c.Chunks, 1), runs: ir.NewRuns(n), class: make([]int32, max(n, 1))}
	k.class[0] = noClass
	return k
}

// Set notes that the n cells from cell on hold the classes from class on.
func (k *Classes) Set(cell, n, class int) {
	if n <= 0 {
		return
	}
	if first := k.runs.Cut(cell + n); first >= 0 {
		k.class[cell+n] = k.classAt(first, cell+n)
	}
	k.runs.Cut(cell)
	k.runs.Join(cell, cell+n)
	k.class[cell] = int32(class % k.chunks)
}

// classAt returns the class of cell, in the run that begins at first.
func (k *Classes) classAt(first, cell int) int32 {
	if c := k.class[first]; c != noClass && k.chunks > 1 {
		return int32((int(c) + cell - first) % k.chunks)
	}
	return k.class[first]
}

// Of returns the class of what a cell holds, 0 where nothing has written it.
func (k *Classes) Of(cell int) int { return max(int(k.classAt(k.runs.First(cell), cell)), 0) }

// Alike returns how many of the n cells from cell on hold the classes from class on, up to the first that does not.
// What nothing has written is of any class.
func (k *Classes) Alike(cell, n, class int) int {
	first := k.runs.First(cell)
	for at := cell; at < cell+n; {
		if c := k.classAt(first, at); c != noClass && int(c) != (class+at-cell)%k.chunks {
			return at - cell
		}
		at = k.runs.End(at)
		first = at
	}
	return n
}

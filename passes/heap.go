package passes

// A minHeap is a heap of priorities, the lowest first.
type minHeap []int32

func (h *minHeap) push(x int32) {
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

func (h *minHeap) pop() int32 {
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

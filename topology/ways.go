package topology

import (
	"slices"
	"sync"
)

// ways are the ways of a topology that were asked for, so that what asks again, as a choice among many programs does,
// need not look.
type ways struct {
	mu     sync.Mutex
	router *Router
	known  map[[2]int32]int32
	list   [][]int32
}

// Ways finds the ways from rank to rank of pairs, as a Router does, and remembers them. The way of pairs[i] is
// all[ids[i]], which is empty where there is none; what it returns is not to be changed. It is for any number of
// goroutines.
func (t *Topology) Ways(pairs [][2]int32) (ids []int32, all [][]int32) {
	w := &t.ways
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.router == nil {
		w.router, w.known = NewRouter(t), map[[2]int32]int32{}
	}
	var missing [][2]int32
	for _, p := range pairs {
		if _, ok := w.known[p]; !ok {
			w.known[p] = -1
			missing = append(missing, p)
		}
	}
	// A Router looks from one rank at a time.
	slices.SortStableFunc(missing, func(a, b [2]int32) int { return int(a[0]) - int(b[0]) })
	for _, p := range missing {
		w.known[p] = int32(len(w.list))
		w.list = append(w.list, slices.Clip(w.router.Route(nil, int(p[0]), int(p[1]))))
	}
	ids = make([]int32, len(pairs))
	for i, p := range pairs {
		ids[i] = w.known[p]
	}
	return ids, w.list
}

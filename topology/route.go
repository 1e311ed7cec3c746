package topology

import (
	"cmp"
	"container/heap"
	"slices"
)

// A Router finds ways from GPU to GPU. It is not for several goroutines at once.
type Router struct {
	t     *Topology
	first []int32 // of each place, its first in next; one more is the end
	next  []int32 // links, by where they begin
	from  int     // whose tree is below, or -1
	cost  []float64
	hops  []int32
	into  [][]int32 // links by which a place is reached as well as by any
	queue frontier
}

// NewRouter makes a Router of t.
func NewRouter(t *Topology) *Router {
	r := &Router{t: t, from: -1, first: make([]int32, len(t.Places)+1), next: make([]int32, len(t.Links))}
	for _, l := range t.Links {
		r.first[l.From+1]++
	}
	for i := range t.Places {
		r.first[i+1] += r.first[i]
	}
	at := slices.Clone(r.first)
	for i, l := range t.Links {
		r.next[at[l.From]] = int32(i)
		at[l.From]++
	}
	r.cost, r.hops, r.into = make([]float64, len(t.Places)), make([]int32, len(t.Places)), make([][]int32, len(t.Places))
	return r
}

// passed is the message whose way is looked for: large enough that NVLink beats PCIe's lower latency.
const passed = 64 << 10 // bytes

// Route appends the links from one rank's GPU to another's to path: those that 64 KiB pass soonest, one link after the other, and
// among these the fewest. Where several are as good, as in a fat tree, the destination decides (d-mod-k), so that what goes to different ranks goes by
// different ways. It is nil where there is no way. Between GPUs, messages pass through NICs and switches only.
func (r *Router) Route(path []int32, from, to int) []int32 {
	if r.from != from {
		r.reach(from)
	}
	if from == to {
		return path
	}
	if len(r.into[to]) == 0 {
		return nil
	}
	begin := len(path)
	for at := int32(to); int(at) != from; {
		ways := r.into[at]
		l := ways[to%len(ways)]
		path = append(path, l)
		at = r.t.Links[l].From
	}
	slices.Reverse(path[begin:])
	return path
}

// reach finds how all places are reached from a rank's GPU.
func (r *Router) reach(from int) {
	for i := range r.cost {
		r.cost[i], r.hops[i], r.into[i] = -1, 0, r.into[i][:0]
	}
	r.from = from
	r.cost[from] = 0
	r.queue = append(r.queue[:0], reached{place: int32(from)})
	for len(r.queue) > 0 {
		p := heap.Pop(&r.queue).(reached)
		if p.cost != r.cost[p.place] || p.hops != r.hops[p.place] || r.t.Places[p.place].Kind == GPU && int(p.place) != from {
			continue
		}
		for _, l := range r.next[r.first[p.place]:r.first[p.place+1]] {
			r.relax(p, l)
		}
	}
}

// relax follows l from p.
func (r *Router) relax(p reached, l int32) {
	to := r.t.Links[l].To
	cost, hops := p.cost+r.t.Latency(l)+passed/r.t.Bandwidth(l), p.hops+1
	better := -1
	if r.cost[to] >= 0 {
		better = cmp.Or(cmp.Compare(cost, r.cost[to]), cmp.Compare(hops, r.hops[to]))
	}
	switch {
	case int(to) == r.from || better > 0:
	case better == 0:
		r.into[to] = append(r.into[to], l)
	default:
		r.cost[to], r.hops[to], r.into[to] = cost, hops, append(r.into[to][:0], l)
		heap.Push(&r.queue, reached{cost, hops, to})
	}
}

type reached struct {
	cost  float64
	hops  int32
	place int32
}

type frontier []reached

func (f frontier) Len() int      { return len(f) }
func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)   { *f = append(*f, x.(reached)) }
func (f frontier) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(f[i].cost, f[j].cost), cmp.Compare(f[i].hops, f[j].hops), cmp.Compare(f[i].place, f[j].place)) < 0
}
func (f *frontier) Pop() any {
	old := *f
	last := old[len(old)-1]
	*f = old[:len(old)-1]
	return last
}

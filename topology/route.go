package topology

import (
	"cmp"
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
	near  []level   // that are reached but not gone on from, the farthest first
	spare [][]int32
}

// A level is the places that are reached at one cost. There are few, as there are few classes of links.
type level struct {
	cost   float64
	hops   int32
	places []int32
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

// Route appends the links from one rank's GPU to another's to path: those that 64 KiB pass soonest, one link after the
// other, and among these the fewest. Where several are as good, as in a fat tree, the destination decides (d-mod-k), so
// that what goes to different ranks goes by different ways. It is nil where there is no way. Between GPUs, messages
// pass through NICs and switches only.
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

// reach finds how all places are reached from a rank's GPU, level by level.
func (r *Router) reach(from int) {
	for i := range r.cost {
		r.cost[i], r.hops[i], r.into[i] = -1, 0, r.into[i][:0]
	}
	r.from = from
	r.cost[from] = 0
	r.leave(int32(from), 0, 0)
	for len(r.near) > 0 {
		last := r.near[len(r.near)-1]
		r.near = r.near[:len(r.near)-1]
		for _, p := range last.places {
			if r.cost[p] == last.cost && r.hops[p] == last.hops {
				r.leave(p, last.cost, last.hops)
			}
		}
		r.spare = append(r.spare, last.places[:0])
	}
}

// leave follows the links from a place that is reached at a cost.
func (r *Router) leave(p int32, cost float64, hops int32) {
	for _, l := range r.next[r.first[p]:r.first[p+1]] {
		to, cost, hops := r.t.Links[l].To, cost+r.t.Latency(l)+passed/r.t.Bandwidth(l), hops+1
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
			if r.t.Places[to].Kind != GPU {
				r.note(to, cost, hops)
			}
		}
	}
}

// note has a place wait in its level.
func (r *Router) note(p int32, cost float64, hops int32) {
	at, ok := slices.BinarySearchFunc(r.near, level{cost: cost, hops: hops}, func(a, b level) int {
		return cmp.Or(cmp.Compare(b.cost, a.cost), cmp.Compare(b.hops, a.hops))
	})
	if !ok {
		l := level{cost: cost, hops: hops}
		if n := len(r.spare); n > 0 {
			l.places, r.spare = r.spare[n-1], r.spare[:n-1]
		}
		r.near = slices.Insert(r.near, at, l)
	}
	r.near[at].places = append(r.near[at].places, p)
}

package synthesis

import "math"

// infinite is a capacity that no flow uses up.
const infinite = math.MaxInt64 / 4

// A flow finds maximum flows by Dinic's algorithm, in a network to which arcs can be added and taken away again. Edge
// e^1 is the reverse of edge e.
type flow struct {
	edges [][]int32 // indexed by vertex
	to    []int32
	full  []int64 // capacities where nothing flows
	left  []int64 // what a flow left
	level []int32
	next  []int
	queue []int32
	of    map[[2]int32]int32 // by ends: the edge of a network's arc
}

// newFlow makes the flow of a network, with room for some more vertices after its own.
func newFlow(net *network, more int) *flow {
	f := &flow{edges: make([][]int32, net.n+more), level: make([]int32, net.n+more), next: make([]int, net.n+more),
		of: map[[2]int32]int32{}}
	for _, k := range net.sorted() {
		u, v := k[0], k[1]
		if u > v && len(net.arcs[[2]int32{v, u}]) > 0 {
			continue // added with its reverse
		}
		f.of[[2]int32{u, v}], f.of[[2]int32{v, u}] = int32(len(f.to)), int32(len(f.to))+1
		f.pair(u, v, net.cap(u, v), net.cap(v, u))
	}
	f.reset()
	return f
}

func (f *flow) pair(u, v int32, there, back int64) {
	e := int32(len(f.to))
	f.to = append(f.to, v, u)
	f.full = append(f.full, there, back)
	f.left = append(f.left, there, back)
	f.edges[u] = append(f.edges[u], e)
	f.edges[v] = append(f.edges[v], e+1)
}

// arc adds an arc, which is there until cut takes it away.
func (f *flow) arc(u, v int32, c int64) { f.pair(u, v, c, 0) }

// set changes the capacity of an arc of the network.
func (f *flow) set(u, v int32, c int64) { f.full[f.of[[2]int32{u, v}]] = c }

// grow makes room for a given number of vertices.
func (f *flow) grow(n int) {
	f.edges = append(f.edges, make([][]int32, n-len(f.edges))...)
	f.level, f.next = make([]int32, n), make([]int, n)
}

// mark returns how many edges there are, and cut takes away those that were added after it.
func (f *flow) mark() int { return len(f.to) }

func (f *flow) cut(mark int) {
	for e := len(f.to) - 2; e >= mark; e -= 2 {
		u, v := f.to[e+1], f.to[e]
		f.edges[u] = f.edges[u][:len(f.edges[u])-1]
		f.edges[v] = f.edges[v][:len(f.edges[v])-1]
	}
	f.to, f.full, f.left = f.to[:mark], f.full[:mark], f.left[:mark]
}

// reset takes all flow away.
func (f *flow) reset() { copy(f.left, f.full) }

// add pushes more flow from s to t, up to limit, and returns how much.
func (f *flow) add(s, t int32, limit int64) (sum int64) {
	for sum < limit && f.search(s, t) {
		clear(f.next)
		for sum < limit {
			d := f.push(s, t, limit-sum)
			if d == 0 {
				break
			}
			sum += d
		}
	}
	return sum
}

func (f *flow) search(s, t int32) bool {
	for i := range f.level {
		f.level[i] = -1
	}
	f.level[s] = 0
	f.queue = append(f.queue[:0], s)
	for i := 0; i < len(f.queue) && f.level[t] < 0; i++ {
		u := f.queue[i]
		for _, e := range f.edges[u] {
			if v := f.to[e]; f.left[e] > 0 && f.level[v] < 0 {
				f.level[v] = f.level[u] + 1
				f.queue = append(f.queue, v)
			}
		}
	}
	return f.level[t] >= 0
}

func (f *flow) push(u, t int32, most int64) (sent int64) {
	if u == t {
		return most
	}
	for ; f.next[u] < len(f.edges[u]); f.next[u]++ {
		e := f.edges[u][f.next[u]]
		v := f.to[e]
		if f.left[e] == 0 || f.level[v] != f.level[u]+1 {
			continue
		}
		d := f.push(v, t, min(most-sent, f.left[e]))
		f.left[e] -= d
		f.left[e^1] += d
		if sent += d; sent == most {
			return sent
		}
	}
	return sent
}

package bound

import "math"

// A network finds maximum flows, by Dinic's algorithm. Its edges are the arcs of a graph, in their order, and those
// that connect adds; each has its residual edge after it.
type network struct {
	head  []int32 // indexed by vertex: its edges
	start []int32
	to    []int32
	cap   []int64
	level []int32
	next  []int32
	queue []int32
	ends  [][2]int32
	fixed bool
}

const infinite = math.MaxInt64

// newNetwork makes a network of g's arcs, and room for some more vertices.
func newNetwork(g *graph, more int) *network {
	n := &network{level: make([]int32, g.n+more)}
	for _, a := range g.arcs {
		n.connect(a.from, a.to)
	}
	return n
}

// connect adds an edge, and returns its number for set. All edges are added before the first flow.
func (n *network) connect(from, to int32) int {
	n.ends = append(n.ends, [2]int32{from, to})
	return len(n.ends) - 1
}

// fix lays the edges of each vertex side by side.
func (n *network) fix() {
	v := len(n.level)
	n.start, n.next = make([]int32, v+1), make([]int32, v)
	n.to, n.cap, n.head = make([]int32, 2*len(n.ends)), make([]int64, 2*len(n.ends)), make([]int32, 2*len(n.ends))
	for _, e := range n.ends {
		n.start[e[0]+1]++
		n.start[e[1]+1]++
	}
	for i := range v {
		n.start[i+1] += n.start[i]
	}
	at := append([]int32(nil), n.start[:v]...)
	for i, e := range n.ends {
		n.to[2*i], n.to[2*i+1] = e[1], e[0]
		for k := range 2 {
			n.head[at[e[k]]] = int32(2*i + k)
			at[e[k]]++
		}
	}
	n.fixed = true
}

// set gives edge i a capacity, and takes its flow away.
func (n *network) set(i int, c int64) {
	if !n.fixed {
		n.fix()
	}
	n.cap[2*i], n.cap[2*i+1] = c, 0
}

// flow returns the maximum flow from s to t. It uses up capacities, which the next set restores.
func (n *network) flow(s, t int32) (sum int64) {
	for n.search(s, t) {
		copy(n.next, n.start)
		for {
			f := n.push(s, t, infinite)
			if f == 0 {
				break
			}
			sum += f
		}
	}
	return sum
}

// search sets the levels: distances from s by edges that have capacity left. A vertex that is not reached has -1.
func (n *network) search(s, t int32) bool {
	for i := range n.level {
		n.level[i] = -1
	}
	n.level[s] = 0
	n.queue = append(n.queue[:0], s)
	for i := 0; i < len(n.queue); i++ {
		v := n.queue[i]
		for _, e := range n.head[n.start[v]:n.start[v+1]] {
			if u := n.to[e]; n.cap[e] > 0 && n.level[u] < 0 {
				n.level[u] = n.level[v] + 1
				n.queue = append(n.queue, u)
			}
		}
	}
	return n.level[t] >= 0
}

// push sends up to most along levels from v to t.
func (n *network) push(v, t int32, most int64) int64 {
	if v == t {
		return most
	}
	var sent int64
	for ; n.next[v] < n.start[v+1]; n.next[v]++ {
		e := n.head[n.next[v]]
		if u := n.to[e]; n.cap[e] > 0 && n.level[u] == n.level[v]+1 {
			f := n.push(u, t, min(most-sent, n.cap[e]))
			n.cap[e] -= f
			n.cap[e^1] += f
			if sent += f; sent == most {
				return sent
			}
		}
	}
	return sent
}

// side returns which of the first count vertices the source reaches when no more flows: the source side of a minimum
// cut.
func (n *network) side(count int) []bool {
	set := make([]bool, count)
	for v := range set {
		set[v] = n.level[v] >= 0
	}
	return set
}

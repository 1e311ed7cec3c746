// Package maxflow finds maximum flows.
package maxflow

// A Network finds maximum flows by Dinic's algorithm. Arcs can be added to it and taken away again. Edge e^1 is the
// reverse of edge e.
type Network struct {
	edges [][]int32 // indexed by vertex
	to    []int32
	full  []int64 // capacities where nothing flows
	left  []int64 // what a flow left
	level []int32 // the distance from the source by edges that have capacity left, or -1
	next  []int
	queue []int32
}

// Grow makes room for a given number of vertices, if there is less.
func (n *Network) Grow(vertices int) {
	if more := vertices - len(n.edges); more > 0 {
		n.edges = append(n.edges, make([][]int32, more)...)
		n.level, n.next = make([]int32, vertices), make([]int, vertices)
	}
}

// Add adds two edges, there and back, and returns the number of the first.
func (n *Network) Add(u, v int32, there, back int64) int32 {
	e := int32(len(n.to))
	n.to = append(n.to, v, u)
	n.full = append(n.full, there, back)
	n.left = append(n.left, there, back)
	n.edges[u] = append(n.edges[u], e)
	n.edges[v] = append(n.edges[v], e+1)
	return e
}

// Set changes the capacity of an edge, which counts from the next Reset on.
func (n *Network) Set(e int32, c int64) { n.full[e] = c }

// Mark returns how many edges there are, and Cut takes away those that were added after it.
func (n *Network) Mark() int { return len(n.to) }

// Cut is described at Mark.
func (n *Network) Cut(mark int) {
	for e := len(n.to) - 2; e >= mark; e -= 2 {
		u, v := n.to[e+1], n.to[e]
		n.edges[u] = n.edges[u][:len(n.edges[u])-1]
		n.edges[v] = n.edges[v][:len(n.edges[v])-1]
	}
	n.to, n.full, n.left = n.to[:mark], n.full[:mark], n.left[:mark]
}

// Reset takes all flow away.
func (n *Network) Reset() { copy(n.left, n.full) }

// Flow pushes more flow from s to t, up to limit, and returns how much.
func (n *Network) Flow(s, t int32, limit int64) (sum int64) {
	for sum < limit && n.search(s, t) {
		clear(n.next)
		for sum < limit {
			d := n.push(s, t, limit-sum)
			if d == 0 {
				break
			}
			sum += d
		}
	}
	return sum
}

// Reached reports whether more could flow from the source to v, after a flow that no limit ended: so those vertices are
// the source side of a minimum cut.
func (n *Network) Reached(v int) bool { return n.level[v] >= 0 }

func (n *Network) search(s, t int32) bool {
	for i := range n.level {
		n.level[i] = -1
	}
	n.level[s] = 0
	n.queue = append(n.queue[:0], s)
	for i := 0; i < len(n.queue) && n.level[t] < 0; i++ {
		u := n.queue[i]
		for _, e := range n.edges[u] {
			if v := n.to[e]; n.left[e] > 0 && n.level[v] < 0 {
				n.level[v] = n.level[u] + 1
				n.queue = append(n.queue, v)
			}
		}
	}
	return n.level[t] >= 0
}

func (n *Network) push(u, t int32, most int64) (sent int64) {
	if u == t {
		return most
	}
	for ; n.next[u] < len(n.edges[u]); n.next[u]++ {
		e := n.edges[u][n.next[u]]
		v := n.to[e]
		if n.left[e] == 0 || n.level[v] != n.level[u]+1 {
			continue
		}
		d := n.push(v, t, min(most-sent, n.left[e]))
		n.left[e] -= d
		n.left[e^1] += d
		if sent += d; sent == most {
			return sent
		}
	}
	return sent
}

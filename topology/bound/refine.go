package bound

import (
	"cmp"
	"slices"
)

// A partition is of the vertices of two copies of a graph, the second copy's after the first's. Vertices of one cell
// look alike so far: they have arcs of the same capacities to and from each cell. Each cell has as many vertices of one
// copy as of the other, or no symmetry takes the first copy to the second as asked.
type partition struct {
	g      *graph
	in     [][]int32 // indexed by vertex: the arcs that end there
	elems  []int32   // cell by cell
	at     []int32   // indexed by vertex: where it is in elems
	cell   []int32   // indexed by vertex: the first position of its cell
	size   []int32   // indexed by first position: the vertices of the cell
	queued []bool    // indexed by first position
	queue  []int32

	sum     []uint64 // indexed by vertex: what the arcs from and to the current cell add up to
	touched []int32
}

// newPartition makes a partition by colours, which are of one copy, and refines it.
func newPartition(g *graph, colour []int64) *partition {
	p := &partition{g: g, in: make([][]int32, g.n), elems: make([]int32, 2*g.n), at: make([]int32, 2*g.n),
		cell: make([]int32, 2*g.n), size: make([]int32, 2*g.n), queued: make([]bool, 2*g.n), sum: make([]uint64, 2*g.n)}
	for i, a := range g.arcs {
		p.in[a.to] = append(p.in[a.to], int32(i))
	}
	for i := range p.elems {
		p.elems[i] = int32(i)
	}
	of := func(v int32) int64 { return colour[int(v)%g.n] }
	slices.SortStableFunc(p.elems, func(a, b int32) int { return cmp.Compare(of(a), of(b)) })
	for begin := 0; begin < len(p.elems); {
		end := begin
		for end < len(p.elems) && of(p.elems[end]) == of(p.elems[begin]) {
			end++
		}
		p.form(begin, end)
		p.push(int32(begin))
		begin = end
	}
	p.refine()
	return p
}

// clone returns a copy that can be refined further.
func (p *partition) clone() *partition {
	q := *p
	q.elems, q.at, q.cell, q.size = slices.Clone(p.elems), slices.Clone(p.at), slices.Clone(p.cell), slices.Clone(p.size)
	q.queued, q.queue, q.touched = make([]bool, len(p.queued)), nil, nil
	return &q
}

// form makes the elements from begin to end one cell.
func (p *partition) form(begin, end int) {
	for i := begin; i < end; i++ {
		v := p.elems[i]
		p.at[v], p.cell[v] = int32(i), int32(begin)
	}
	p.size[begin] = int32(end - begin)
}

func (p *partition) push(cell int32) {
	if !p.queued[cell] {
		p.queued[cell] = true
		p.queue = append(p.queue, cell)
	}
}

// refine splits cells until all vertices of each have alike arcs. It reports whether the copies still match.
func (p *partition) refine() bool {
	for len(p.queue) > 0 {
		c := p.queue[len(p.queue)-1]
		p.queue = p.queue[:len(p.queue)-1]
		p.queued[c] = false
		p.count(c)
		cells := map[int32]bool{}
		var list []int32
		for _, v := range p.touched {
			if k := p.cell[v]; !cells[k] {
				cells[k] = true
				list = append(list, k)
			}
		}
		slices.Sort(list)
		ok := true
		for _, k := range list {
			ok = p.split(k) && ok
		}
		for _, v := range p.touched {
			p.sum[v] = 0
		}
		if !ok {
			return false
		}
	}
	return true
}

// count adds up what each vertex has of arcs to and from a cell. Sums that differ distinguish vertices; equal ones need
// not mean equal arcs, since a symmetry is verified at its end.
func (p *partition) count(c int32) {
	p.touched = p.touched[:0]
	n := int32(p.g.n)
	add := func(v int32, x uint64) {
		if p.sum[v] == 0 {
			p.touched = append(p.touched, v)
		}
		p.sum[v] += x | 1<<32
	}
	for _, e := range p.elems[c : c+p.size[c]] {
		v, copied := e, int32(0)
		if e >= n {
			v, copied = e-n, n
		}
		for i := p.g.first[v]; i < p.g.first[v+1]; i++ {
			add(p.g.arcs[i].to+copied, mix(uint64(p.g.arcs[i].cap)*2))
		}
		for _, i := range p.in[v] {
			add(p.g.arcs[i].from+copied, mix(uint64(p.g.arcs[i].cap)*2+1))
		}
	}
}

// mix spreads the bits of x (splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// split splits a cell by the sums of its vertices. It reports whether each part has as many vertices of both copies.
func (p *partition) split(c int32) bool {
	begin, end := int(c), int(c+p.size[c])
	part := p.elems[begin:end]
	slices.SortStableFunc(part, func(a, b int32) int { return cmp.Compare(p.sum[a], p.sum[b]) })
	if p.sum[part[0]] == p.sum[part[len(part)-1]] {
		return true
	}
	was, ok := p.queued[c], true
	var firsts []int32
	for i := begin; i < end; {
		j, balance := i, 0
		for ; j < end && p.sum[p.elems[j]] == p.sum[p.elems[i]]; j++ {
			balance += p.copyOf(p.elems[j])
		}
		ok = ok && balance == 0
		p.form(i, j)
		firsts = append(firsts, int32(i))
		i = j
	}
	largest := slices.MaxFunc(firsts, func(a, b int32) int { return cmp.Compare(p.size[a], p.size[b]) })
	for _, k := range firsts {
		if was || k != largest {
			p.push(k)
		}
	}
	return ok
}

// copyOf returns 1 for a vertex of the first copy and -1 for one of the second.
func (p *partition) copyOf(v int32) int {
	if int(v) < p.g.n {
		return 1
	}
	return -1
}

// individualise gives u of the first copy and v of the second a cell of their own, and refines. They are of one cell.
func (p *partition) individualise(u, v int32) bool {
	v += int32(p.g.n)
	c := p.cell[u]
	if p.size[c] == 2 {
		return true
	}
	begin, end := int(c), int(c+p.size[c])
	for i, x := range []int32{u, v} {
		y := p.elems[begin+i]
		p.elems[begin+i], p.elems[p.at[x]] = x, y
		p.at[y], p.at[x] = p.at[x], int32(begin+i)
	}
	p.form(begin, begin+2)
	p.form(begin+2, end)
	p.push(int32(begin))
	return p.refine()
}

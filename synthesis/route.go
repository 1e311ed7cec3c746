package synthesis

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
)

// This file finds routes of an AllToAll: of each rank's data for each other one, in equal parts. That is a concurrent
// flow in whole parts. Links are the longer the more they carry, exponentially (Garg, Könemann). Each part in turn
// takes the shortest way, until no turn makes the busiest link carry less.

// routes are the ways of all parts.
type routes struct {
	m     *Machine
	first []int32 // indexed by vertex: its first arc in arcs; one more is the end
	arcs  []Arc   // sorted by From
	carry []int64 // indexed by arc: parts
	way   [][]int32
	steep float64   // how the lengths of links grow with what they carry
	usual float64   // what a link carries for each unit of its capacity
	most  float64   // where it is set, all that a link may carry for each unit
	size  []float64 // indexed by arc: its length
}

// sweeps is how often all parts are routed at most, and steepness what routes.steep is in these.
const sweeps = 24

var steepness = []float64{4, 8, 16, 32, 64, 64, 32}

// Route finds ways for so many parts of each rank's data for each other rank, as trees without branches. The search
// ends where no link carries more than enough parts for each unit of its capacity. The scale is what the busiest
// carries.
func Route(ctx context.Context, m *Machine, parts int, enough *big.Rat) (*Forest, error) {
	r := newRoutes(m, parts)
	goal, _ := enough.Float64()
	least, best := math.Inf(1), [][]int32(nil)
	for sweep := 0; sweep < sweeps && least > goal*(1+1e-9); sweep++ {
		r.steep, r.usual, r.most = steepness[sweep%len(steepness)], max(goal, r.busiest()), 0
		if sweep == 0 {
			r.most = math.Inf(1) // the fewest ranks may do
		}
		for a := range r.arcs {
			r.measure(int32(a))
		}
		for k := range r.way {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if !r.again(k) {
				return nil, ErrNoFit
			}
		}
		if b := r.busiest(); b < least {
			least, best = b, slices.Clone(r.way)
		}
	}
	r.shorten(least, best)
	return r.forest(r.way), nil
}

// relayed is how many links a rank on a way counts for, where ways are made as short as they can be.
const relayed = 100

// shorten has parts go over the fewest ranks, and then links, where no link carries more than least for it.
func (r *routes) shorten(least float64, best [][]int32) {
	r.way, r.most = best, least
	clear(r.carry)
	for _, way := range r.way {
		for _, a := range way {
			r.carry[a]++
		}
	}
	for a := range r.arcs {
		r.measure(int32(a))
	}
	for range 2 { // what gets a shorter way makes room for others
		for k := range r.way {
			r.again(k)
		}
	}
}

func newRoutes(m *Machine, parts int) *routes {
	r := &routes{m: m, first: make([]int32, m.Vertices+1), arcs: slices.Clone(m.Arcs), carry: make([]int64, len(m.Arcs)),
		size: make([]float64, len(m.Arcs)), way: make([][]int32, m.Ranks*m.Ranks*parts)}
	slices.SortStableFunc(r.arcs, func(a, b Arc) int { return cmp.Compare(a.From, b.From) })
	for _, a := range r.arcs {
		r.first[a.From+1]++
	}
	for v := range m.Vertices {
		r.first[v+1] += r.first[v]
	}
	return r
}

// ends returns between which ranks a part goes. Parts of one pair are far from each other, as those of one rank are.
func (r *routes) ends(k int) (from, to int32) {
	n := r.m.Ranks
	k %= n * n
	from = int32(k % n)
	return from, (from + int32(k/n)) % int32(n)
}

// again routes a part anew. It is false where there is no way.
func (r *routes) again(k int) bool {
	from, to := r.ends(k)
	if from == to {
		return true
	}
	for _, a := range r.way[k] {
		r.carry[a]--
		r.measure(a)
	}
	r.way[k] = r.shortest(from, to)
	for _, a := range r.way[k] {
		r.carry[a]++
		r.measure(a)
	}
	return len(r.way[k]) > 0
}

// measure sets the length of an arc, as if it carried one part more.
func (r *routes) measure(a int32) {
	c := float64(r.arcs[a].Cap)
	if r.most > 0 {
		r.size[a] = 1
		if int(r.arcs[a].To) < r.m.Ranks {
			r.size[a] = relayed
		}
		if float64(r.carry[a]+1)/c > r.most*(1+1e-9) {
			r.size[a] = math.Inf(1)
		}
		return
	}
	r.size[a] = (math.Exp(r.steep*(float64(r.carry[a]+1)/c/r.usual-1)) + 1e-9) / c
}

func (r *routes) busiest() (most float64) {
	for a, n := range r.carry {
		most = max(most, float64(n)/float64(r.arcs[a].Cap))
	}
	return most
}

// shortest returns the arcs of the shortest way (Dijkstra), or nil.
func (r *routes) shortest(from, to int32) (way []int32) {
	dist, into := make([]float64, r.m.Vertices), make([]int32, r.m.Vertices)
	for v := range dist {
		dist[v], into[v] = math.Inf(1), -1
	}
	dist[from] = 0
	for near := (fronts{{0, from}}); len(near) > 0; {
		at := heap.Pop(&near).(front)
		if at.v == to {
			break
		}
		if at.far > dist[at.v] {
			continue
		}
		for a := r.first[at.v]; a < r.first[at.v+1]; a++ {
			if t, far := r.arcs[a].To, at.far+r.size[a]; far < dist[t] {
				dist[t], into[t] = far, a
				heap.Push(&near, front{far, t})
			}
		}
	}
	for v := to; into[v] >= 0; v = r.arcs[into[v]].From {
		way = append(way, into[v])
	}
	slices.Reverse(way)
	return way
}

// A front is a vertex that a search has reached.
type front struct {
	far float64
	v   int32
}

// fronts are a heap, the nearest first.
type fronts []front

func (f fronts) Len() int { return len(f) }
func (f fronts) Less(i, j int) bool {
	return f[i].far < f[j].far || f[i].far == f[j].far && f[i].v < f[j].v
}
func (f fronts) Swap(i, j int) { f[i], f[j] = f[j], f[i] }

// Push implements heap.Interface.
func (f *fronts) Push(x any) { *f = append(*f, x.(front)) }

// Pop implements heap.Interface.
func (f *fronts) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}

// forest returns ways as trees without branches, those of equal ways together.
func (r *routes) forest(ways [][]int32) *Forest {
	f := &Forest{Scale: new(big.Rat)}
	load, number := map[int32]int64{}, map[string]int{}
	for _, way := range ways {
		if len(way) == 0 {
			continue
		}
		name := fmt.Sprint(way)
		i, ok := number[name]
		if !ok {
			i = len(f.Trees)
			number[name] = i
			f.Trees = append(f.Trees, r.tree(way))
		}
		f.Trees[i].Count++
		for _, a := range way {
			load[a]++
		}
	}
	for a, n := range load {
		if x := big.NewRat(n, r.arcs[a].Cap); x.Cmp(f.Scale) > 0 {
			f.Scale = x
		}
	}
	for _, t := range f.Trees {
		for h := range t.Hops {
			t.Hops[h].ways[0].amount = t.Count
		}
	}
	return f
}

// tree returns a way as a tree, with a hop from each rank on the way to the next one.
func (r *routes) tree(way []int32) (t Tree) {
	t.Root = r.arcs[way[0]].From
	at := []int32{t.Root}
	for _, a := range way {
		v := r.arcs[a].To
		if at = append(at, v); int(v) < r.m.Ranks {
			t.Hops = append(t.Hops, Hop{at[0], v, []piece{{0, at}}})
			at = []int32{v}
		}
	}
	return t
}

// partsTried is into how many parts the data of a pair is cut, where a request does not say it.
var partsTried = []int{1, 2, 3, 4, 6, 8, 12, MostChunks}

// nearly is which share of the bound needs no more parts.
const nearly = 0.98

// route finds the routes of a request. Without a number of parts it takes the fewest that nearly reach the bound, or
// else those that come nearest.
func (s *search) route() error {
	tries := partsTried
	if s.r.Chunks > 0 {
		tries = []int{s.r.Chunks}
	}
	pair := new(big.Rat).Quo(s.b.Rate, s.g.Unit)
	pair.Quo(pair, big.NewRat(int64(s.m.Ranks), 1)) // the rate of a pair, in units of capacity
	most := 0.0
	for _, parts := range tries {
		ideal := new(big.Rat).Quo(big.NewRat(int64(parts), 1), pair)
		f, err := Route(s.ctx, s.m, parts, ideal)
		switch {
		case err != nil && s.spread != nil:
			return nil // time is over
		case err != nil:
			return err
		}
		if share, _ := new(big.Rat).Quo(ideal, f.Scale).Float64(); share > most {
			most, s.spread, s.scale = share, f, f.Scale
		}
		if most >= nearly {
			break
		}
	}
	return nil
}

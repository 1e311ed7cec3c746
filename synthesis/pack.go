package synthesis

import (
	"context"
	"errors"
	"slices"
)

// A Tree spans all ranks, from its root on. Count trees are alike.
type Tree struct {
	Root  int32
	Count int64
	Hops  []Hop // those nearer to the root first
}

// A Hop is an arc of a tree: From has the data and sends it To. Its ways carry Count together.
type Hop struct {
	From, To int32
	ways     []piece
}

// Height returns the most hops from the root to a rank.
func (t *Tree) Height() (most int) {
	depth := map[int32]int{}
	for _, h := range t.Hops {
		depth[h.To] = depth[h.From] + 1
		most = max(most, depth[h.To])
	}
	return most
}

// A growing is a tree that is not whole yet.
type growing struct {
	Tree
	has   []int32 // ranks, those nearer to the root first
	depth []int   // indexed by rank: hops from the root, or -1
}

// pack packs trees into a network of ranks alone, in which they fit, and uses it up. It fails where ctx is done. One
// tree grows at a time, and takes an arc as often as all others can still be completed: Bérczi and Frank 2010.
func (d demand) pack(ctx context.Context, net *network) (done []Tree, err error) {
	p := &packing{net: net, f: newFlow(net, len(d.trees))}
	for r, k := range d.trees {
		if k > 0 {
			t := &growing{Tree{Root: int32(r), Count: k}, []int32{int32(r)}, make([]int, net.ranks)}
			for v := range t.depth {
				t.depth[v] = -1
			}
			t.depth[r] = 0
			p.trees = append(p.trees, t)
		}
	}
	for len(p.trees) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p.turn()
		t := p.trees[0]
		if len(t.has) == net.ranks {
			done = append(done, t.Tree)
			p.trees = p.trees[1:]
		} else if !p.grow() {
			return nil, errors.New("no arc can be added to a tree, though trees fit")
		}
	}
	return done, nil
}

// A packing grows the first of its trees.
type packing struct {
	net   *network
	f     *flow
	trees []*growing
}

// fewTurns is up to how many ranks trees grow in turns. Each of them takes longer to grow where others have grown.
const fewTurns = 16

// turn puts that tree first which has the fewest hops. So all trees have the short paths that there are, and not the
// first ones alone.
func (p *packing) turn() {
	if p.net.ranks > fewTurns {
		return
	}
	least := 0
	for i, t := range p.trees {
		if len(t.has) < len(p.trees[least].has) {
			least = i
		}
	}
	p.trees[0], p.trees[least] = p.trees[least], p.trees[0]
}

// grow adds an arc to the first tree: one that leaves a vertex as near to the root as can be, and that all of the
// tree's copies can take, if there is one. Copies that cannot take it remain as a tree of their own.
func (p *packing) grow() bool {
	t := p.trees[0]
	depth, x, y, most := -1, int32(-1), int32(-1), int64(0)
	for _, u := range t.has {
		if most > 0 && t.depth[u] > depth {
			break
		}
		depth = t.depth[u]
		for _, v := range keys(p.net.out[u]) {
			if t.depth[v] >= 0 {
				continue
			}
			if m := p.room(u, v); m > most {
				x, y, most = u, v, m
			}
			if most == t.Count {
				p.take(x, y, most)
				return true
			}
		}
	}
	if most > 0 {
		p.take(x, y, most)
	}
	return most > 0
}

// room returns how many copies of the first tree can take the arc (x,y), so that all others still fit. Each other tree
// is a vertex: what x sends through it is what the tree takes.
func (p *packing) room(x, y int32) int64 {
	t := p.trees[0]
	most := min(t.Count, p.net.cap(x, y))
	mark := p.f.Mark()
	var others int64
	next := int32(p.net.n)
	for _, o := range p.trees[1:] {
		others += o.Count
		if len(o.has) == 1 {
			if o.Root != x { // no set without x has a vertex of it
				p.f.arc(x, o.Root, o.Count)
			}
			continue
		}
		p.f.arc(x, next, o.Count)
		for _, v := range o.has {
			p.f.arc(next, v, infinite)
		}
		next++
	}
	p.f.Reset()
	room := p.f.Flow(x, y, others+most) - others
	p.f.Cut(mark)
	return max(room, 0)
}

// take gives the first tree the arc (x,y) as often as most says.
func (p *packing) take(x, y int32, most int64) {
	t := p.trees[0]
	if most < t.Count {
		rest := &growing{t.Tree, slices.Clone(t.has), slices.Clone(t.depth)}
		rest.Hops = nil
		rest.Count -= most
		for i, h := range t.Hops { // its ways are shared out
			var kept Hop
			t.Hops[i], kept = h.divide(most)
			rest.Hops = append(rest.Hops, kept)
		}
		t.Count = most
		p.trees = slices.Insert(p.trees, 1, rest)
		p.f.Grow(p.net.n + len(p.trees))
	}
	t.Hops = append(t.Hops, Hop{x, y, p.net.take(x, y, most)})
	p.f.set(x, y, p.net.cap(x, y))
	t.has = append(t.has, y)
	t.depth[y] = t.depth[x] + 1
}

// divide divides what carries a hop among two trees, the first of which has a given number of copies.
func (h Hop) divide(most int64) (first, rest Hop) {
	first, rest = Hop{From: h.From, To: h.To}, Hop{From: h.From, To: h.To}
	for _, w := range h.ways {
		d := min(most, w.amount)
		if most -= d; d > 0 {
			first.ways = append(first.ways, piece{d, w.way})
		}
		if w.amount > d {
			rest.ways = append(rest.ways, piece{w.amount - d, w.way})
		}
	}
	return first, rest
}

package synthesis

import (
	"cmp"
	"context"
	"slices"
)

// A demand is what the trees of a network must carry: how many trees begin at each rank.
type demand struct {
	trees []int64 // indexed by rank
	total int64
}

func newDemand(trees []int64) demand {
	d := demand{trees: trees}
	for _, k := range trees {
		d.total += k
	}
	return d
}

// rooted returns the flow of a network and a source, which is vertex net.n, with an arc to each rank of as much
// capacity as trees begin there. By Edmonds' theorem trees fit if the source sends the total to each rank.
func (d demand) rooted(net *network, more int) *flow {
	f := newFlow(net, 1+more)
	for r, k := range d.trees {
		if k > 0 {
			f.arc(int32(net.n), int32(r), k)
		}
	}
	return f
}

// fits reports whether trees fit into a network.
func (d demand) fits(net *network) bool {
	f := d.rooted(net, 0)
	for r := range net.ranks {
		if f.Reset(); f.Flow(int32(net.n), int32(r), d.total) < d.total {
			return false
		}
	}
	return true
}

// withoutSwitches removes all switches and NICs of a network, in which the trees of a demand fit, so that they still
// do: arcs into a switch are joined with arcs out of it. It is false where that fails, which is so only where a vertex
// has more capacity in than out and none of it can be left out, or where ctx is done.
//
// Splitting off: Mader 1982; with maximum flows as ForestColl (2024) does it.
func (d demand) withoutSwitches(ctx context.Context, net *network) bool {
	for v := net.ranks; v < net.n; v++ {
		if !d.balance(net, int32(v)) {
			return false
		}
	}
	left := make([]int32, 0, net.n-net.ranks)
	for v := net.ranks; v < net.n; v++ {
		left = append(left, int32(v))
	}
	for len(left) > 0 {
		slices.SortStableFunc(left, func(a, b int32) int { return cmp.Compare(len(net.in[a]), len(net.in[b])) })
		if !d.remove(ctx, net, left[0]) {
			return false
		}
		left = left[1:]
	}
	return true
}

// balance leaves out capacity of a vertex that has more on one side than on the other, where no tree needs it.
func (d demand) balance(net *network, w int32) bool {
	excess := net.entering(w) - net.leaving(w)
	for _, u := range keys(net.in[w]) {
		if excess > 0 {
			excess -= d.spare(net, u, w, excess)
		}
	}
	for _, t := range keys(net.out[w]) {
		if excess < 0 {
			excess += d.spare(net, w, t, -excess)
		}
	}
	return excess == 0
}

// spare takes up to most from the arc (u,v), as far as trees still fit, and returns how much.
func (d demand) spare(net *network, u, v int32, most int64) int64 {
	amount := min(most, net.cap(u, v))
	f := d.rooted(net, 0)
	f.arc(u, int32(net.n), infinite)
	for r := range int32(net.ranks) {
		if r != u {
			amount = d.excess(f, u, v, r, amount)
		}
	}
	if amount > 0 {
		net.take(u, v, amount)
	}
	return amount
}

// remove removes one vertex.
func (d demand) remove(ctx context.Context, net *network, w int32) bool {
	if d.rotate(net, w) {
		return true
	}
	for _, t := range keys(net.out[w]) {
		for _, u := range d.order(net, w, t) {
			if ctx.Err() != nil {
				return false
			}
			if net.cap(w, t) == 0 {
				break
			}
			if most := d.joinable(net, u, w, t); most > 0 {
				join(net, u, w, t, most)
			}
		}
	}
	return len(net.in[w]) == 0 && len(net.out[w]) == 0
}

// order returns where arcs into w come from: t itself last, since what comes back is lost.
func (d demand) order(net *network, w, t int32) []int32 {
	list := slices.DeleteFunc(keys(net.in[w]), func(u int32) bool { return u == t })
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(net.cap(b, w), net.cap(a, w)) })
	if net.in[w][t] {
		list = append(list, t)
	}
	return list
}

// join makes an arc (u,t) of arcs (u,w) and (w,t).
func join(net *network, u, w, t int32, amount int64) {
	a, b := net.take(u, w, amount), net.take(w, t, amount)
	for len(a) > 0 {
		d := min(a[0].amount, b[0].amount)
		if u != t {
			net.add(d, append(slices.Clone(a[0].way), b[0].way[1:]...))
		}
		if a[0].amount -= d; a[0].amount == 0 {
			a = a[1:]
		}
		if b[0].amount -= d; b[0].amount == 0 {
			b = b[1:]
		}
	}
}

// rotate spreads what comes into w evenly over the others of its neighbours, where all have arcs of one capacity both
// ways: unit i from the k-th goes to the (k+1+i)-th. It does nothing where trees no longer fit.
func (d demand) rotate(net *network, w int32) bool {
	list := keys(net.in[w])
	if len(list) < 2 || !slices.Equal(list, keys(net.out[w])) {
		return len(list) == 0 && len(net.out[w]) == 0
	}
	c := net.cap(list[0], w)
	for _, v := range list {
		if net.cap(v, w) != c || net.cap(w, v) != c {
			return false
		}
	}
	tried := net.clone()
	others := int64(len(list) - 1)
	for k, u := range list {
		for i := range others {
			amount := c / others
			if i < c%others {
				amount++
			}
			if amount > 0 {
				join(tried, u, w, list[(k+1+int(i))%len(list)], amount)
			}
		}
	}
	if !d.fits(tried) {
		return false
	}
	*net = *tried
	return true
}

// joinable returns how much of (u,w) and (w,t) can be joined. A cut that this makes smaller has u and t on the source's
// side and w and a rank on the other, or w on the source's side and u, t and a rank on the other.
func (d demand) joinable(net *network, u, w, t int32) int64 {
	most := min(net.cap(u, w), net.cap(w, t))
	f := d.rooted(net, 0)
	s := int32(net.n)
	mark := f.Mark()
	f.arc(u, s, infinite)
	if t != u {
		f.arc(u, t, infinite)
	}
	for r := range int32(net.ranks) {
		if r != u && r != t {
			most = d.excess(f, u, w, r, most)
		}
	}
	f.Cut(mark)
	f.arc(w, s, infinite)
	if t != u {
		f.arc(u, t, infinite)
	}
	if t < int32(net.ranks) || u < int32(net.ranks) {
		return d.excess(f, w, t, t, most)
	}
	for r := range int32(net.ranks) {
		most = d.excess(f, w, t, r, most)
	}
	return most
}

// excess returns by how much the flow from a to b exceeds the total, up to most, where a rank is on b's side.
func (d demand) excess(f *flow, a, b, rank int32, most int64) int64 {
	if most <= 0 {
		return 0
	}
	mark := f.Mark()
	if rank != b {
		f.arc(rank, b, infinite)
	}
	f.Reset()
	most = min(most, f.Flow(a, b, d.total+most)-d.total)
	f.Cut(mark)
	return max(most, 0)
}

package synthesis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"mscclc/ir"
	"mscclc/synthesis/certificate"
)

// An arc is a copy from a rank to another, or an addition of what the first has to what the second has.
type arc struct{ from, to int32 }

// A chunk is of a root: what it spreads, or what is summed up for it. Those of AllReduce are of no root, -1.
type chunk struct{ root, index int32 }

// moves is what a program does with each chunk.
type moves struct {
	d      *ir.ChunkDAG
	value  map[ir.Ref]chunk // what was copied to a place
	spread map[chunk][]arc
	gather map[chunk][]arc
}

// Matches returns an error if the copies and additions of a program, counted by chunk and by ranks, are not the trees
// of a certificate.
func Matches(c *certificate.Certificate, d *ir.ChunkDAG) error {
	if d.Coll.Kind.String() != c.Collective || d.Coll.Ranks != len(c.Ranks) {
		return fmt.Errorf("the program is %v of %d ranks, and the certificate %s of %d", d.Coll.Kind, d.Coll.Ranks,
			c.Collective, len(c.Ranks))
	}
	m := &moves{d: d, value: map[ir.Ref]chunk{}, spread: map[chunk][]arc{}, gather: map[chunk][]arc{}}
	for i := range d.Ops {
		if err := m.op(&d.Ops[i]); err != nil {
			return fmt.Errorf("line %d: %w", d.Span(d.Ops[i].Pos).Line, err)
		}
	}
	images := c.Images()
	if err := same("spread", m.spread, c.Spread, images, false); err != nil {
		return err
	}
	return same("gather", m.gather, c.Gather, images, true)
}

// op follows an operation.
func (m *moves) op(op *ir.ChunkOp) error {
	sources := m.d.Sources(op)
	for i := range op.Count {
		dst := op.Dst
		dst.Index += i
		if len(sources) == 1 {
			src := sources[0]
			src.Index += i
			c := m.chunk(src)
			if m.value[dst] = c; src.Rank != dst.Rank {
				m.spread[c] = append(m.spread[c], arc{src.Rank, dst.Rank})
			}
			continue
		}
		own := slices.IndexFunc(sources, func(r ir.Ref) bool { return r.Rank == dst.Rank })
		if own < 0 {
			return fmt.Errorf("it adds up what other ranks have, and not what rank %d has", dst.Rank)
		}
		at := sources[own]
		at.Index += i
		c := m.chunk(at)
		for k, src := range sources {
			if src.Index += i; m.chunk(src) != c || k != own && src.Rank == dst.Rank {
				return fmt.Errorf("it adds other chunks than one of all ranks")
			}
			if k != own {
				m.gather[c] = append(m.gather[c], arc{src.Rank, dst.Rank})
			}
		}
		m.value[dst] = c
	}
	return nil
}

// chunk returns which chunk a place holds.
func (m *moves) chunk(at ir.Ref) chunk {
	if c, ok := m.value[at]; ok {
		return c
	}
	switch each := int32(m.d.Coll.Chunks); m.d.Coll.Kind {
	case ir.AllGather, ir.AllToAll:
		return chunk{at.Rank, at.Index}
	case ir.ReduceScatter:
		return chunk{at.Index / each, at.Index % each}
	case ir.Broadcast, ir.ReduceTo:
		return chunk{int32(m.d.Coll.Root), at.Index}
	}
	return chunk{-1, at.Index}
}

// same compares what a program does with the images of trees. Data goes against the hops of trees that gather.
func same(what string, found map[chunk][]arc, trees []certificate.Tree, images [][]int, back bool) error {
	count := map[string]int64{}
	for c, arcs := range found {
		count[text(rootOf(c, arcs, back), arcs)]++
	}
	for _, t := range trees {
		for _, at := range images {
			arcs := make([]arc, len(t.Hops))
			for i, h := range t.Hops {
				arcs[i] = arc{int32(at[h.From]), int32(at[h.To])}
				if back {
					arcs[i].from, arcs[i].to = arcs[i].to, arcs[i].from
				}
			}
			count[text(int32(at[t.Root]), arcs)] -= t.Count
		}
	}
	for _, k := range slices.Sorted(maps.Keys(count)) {
		switch n := count[k]; {
		case n > 0:
			return fmt.Errorf("%s: the program does so with %d chunks more than the certificate says: %s", what, n, k)
		case n < 0:
			return fmt.Errorf("%s: the program does so with %d chunks fewer than the certificate says: %s", what, -n, k)
		}
	}
	return nil
}

// rootOf returns the root of a chunk: of AllReduce, the rank that no arc enters, or none leaves.
func rootOf(c chunk, arcs []arc, back bool) int32 {
	if c.root >= 0 {
		return c.root
	}
	far := map[int32]bool{}
	for _, a := range arcs {
		if back {
			a.from, a.to = a.to, a.from
		}
		far[a.to] = true
	}
	for _, a := range arcs {
		for _, r := range []int32{a.from, a.to} {
			if !far[r] {
				return r
			}
		}
	}
	return -1
}

// text names what is done with a chunk: its root, and the arcs in their order.
func text(root int32, arcs []arc) string {
	slices.SortFunc(arcs, func(a, b arc) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	b := append(strconv.AppendInt([]byte("root "), int64(root), 10), ':')
	for _, a := range arcs {
		b = strconv.AppendInt(append(b, ' '), int64(a.from), 10)
		b = strconv.AppendInt(append(b, '>'), int64(a.to), 10)
	}
	return string(b)
}

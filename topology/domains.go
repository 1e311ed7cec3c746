package topology

// Domains returns, indexed by rank, the part of the topology that a GPU is of: GPUs of one part reach each other's
// memory, by links that are no network. Parts are numbered from 0, in the order of their first GPUs.
func (t *Topology) Domains() []int32 {
	up := make([]int32, len(t.Places)) // of each place, one of its part, and at last the first of these
	for i := range up {
		up[i] = int32(i)
	}
	root := func(p int32) int32 {
		for up[p] != p {
			up[p] = up[up[p]]
			p = up[p]
		}
		return p
	}
	for _, l := range t.Links {
		if a, b := root(l.From), root(l.To); !t.Classes[l.Class].Network && a != b {
			up[max(a, b)] = min(a, b)
		}
	}
	parts, number := make([]int32, t.Ranks()), map[int32]int32{}
	for g := range parts {
		first := root(int32(g))
		n, ok := number[first]
		if !ok {
			n = int32(len(number))
			number[first] = n
		}
		parts[g] = n
	}
	return parts
}

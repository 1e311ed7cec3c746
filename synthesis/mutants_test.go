package synthesis

import (
	"context"
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/synthesis/certificate"
	"mscclc/topology"
)

// A mutant is a certificate that is changed at random. Its changes report whether they made it false.
type mutant struct {
	r *rand.Rand
	m *topology.Topology
	*certificate.Certificate
}

// tree returns some tree, and whether data goes against its hops.
func (c *mutant) tree() (t *certificate.Tree, back bool) {
	n := len(c.Spread)
	if i := c.r.IntN(n + len(c.Gather)); i < n {
		return &c.Spread[i], false
	} else {
		return &c.Gather[i-n], true
	}
}

func (c *mutant) hop() *certificate.Hop {
	t, _ := c.tree()
	return &t.Hops[c.r.IntN(len(t.Hops))]
}

func (c *mutant) way() *certificate.Way {
	h := c.hop()
	return &h.Ways[c.r.IntN(len(h.Ways))]
}

// other returns a number below n but one.
func (c *mutant) other(n, but int) int { return (but + 1 + c.r.IntN(n-1)) % n }

// busiest returns the most trees that a link has for each MB/s of it: no smaller scale is true.
func (c *mutant) busiest() *big.Rat {
	room, load := map[[2]int]int64{}, map[[2]int]int64{}
	for _, l := range c.m.Links {
		room[[2]int{int(l.From), int(l.To)}] += int64(l.Width) * 1000
	}
	count := func(list []certificate.Tree, back bool) {
		for _, t := range list {
			for _, h := range t.Hops {
				for _, w := range h.Ways {
					for i := 1; i < len(w.Places); i++ {
						arc := [2]int{w.Places[i-1], w.Places[i]}
						if back {
							arc[0], arc[1] = arc[1], arc[0]
						}
						load[arc] += w.Count
					}
				}
			}
		}
	}
	count(c.Spread, false)
	count(c.Gather, true)
	most := new(big.Rat)
	for arc, n := range load {
		if x := big.NewRat(n, room[arc]); x.Cmp(most) > 0 {
			most = x
		}
	}
	return most
}

// less returns a number that is at least a thousandth less.
func (c *mutant) less(x *big.Rat) string {
	return new(big.Rat).Mul(x, big.NewRat(1+int64(c.r.IntN(999)), 1000)).RatString()
}

// mutations are changes that make a certificate false, or report that they did not.
var mutations = map[string]func(c *mutant) bool{
	"a link carries more than it can": func(c *mutant) bool { c.Scale = c.less(c.busiest()); return true },
	"the bound is less than is proven": func(c *mutant) bool {
		x, _ := new(big.Rat).SetString(c.Bound)
		c.Bound = c.less(x)
		return true
	},
	"a hop is missing": func(c *mutant) bool {
		t, _ := c.tree()
		i := c.r.IntN(len(t.Hops))
		t.Hops = slices.Delete(t.Hops, i, i+1)
		return true
	},
	"a hop is there twice": func(c *mutant) bool {
		t, _ := c.tree()
		t.Hops = append(t.Hops, t.Hops[c.r.IntN(len(t.Hops))])
		return true
	},
	"a hop comes before its data": func(c *mutant) bool {
		t, _ := c.tree()
		i := slices.IndexFunc(t.Hops, func(h certificate.Hop) bool { return h.From != t.Root })
		if i < 0 {
			return false
		}
		t.Hops = slices.Insert(slices.Delete(slices.Clone(t.Hops), i, i+1), 0, t.Hops[i])
		return true
	},
	"a hop is from another rank": func(c *mutant) bool { h := c.hop(); h.From = c.other(len(c.Ranks), h.From); return true },
	"a hop is to another rank":   func(c *mutant) bool { h := c.hop(); h.To = c.other(len(c.Ranks), h.To); return true },
	"a tree has another root":    func(c *mutant) bool { t, _ := c.tree(); t.Root = c.other(len(c.Ranks), t.Root); return true },
	"a tree has more copies": func(c *mutant) bool {
		t, _ := c.tree()
		t.Count += 1 + c.r.Int64N(5)
		return true
	},
	"a way carries more":  func(c *mutant) bool { c.way().Count += 1 + c.r.Int64N(5); return true },
	"a way carries less":  func(c *mutant) bool { c.way().Count--; return true },
	"a way is missing":    func(c *mutant) bool { h := c.hop(); h.Ways = h.Ways[1:]; return true },
	"a way ends too soon": func(c *mutant) bool { w := c.way(); w.Places = w.Places[:len(w.Places)-1]; return true },
	"a way leads elsewhere": func(c *mutant) bool {
		w := c.way()
		i := c.r.IntN(2) * (len(w.Places) - 1)
		w.Places[i] = c.other(len(c.Places), w.Places[i])
		return true
	},
	"a way goes through a GPU": func(c *mutant) bool {
		w := c.way()
		w.Places = slices.Insert(w.Places, 1, c.r.IntN(len(c.Ranks)))
		return true
	},
	"no cut is left":         func(c *mutant) bool { had := c.hasCuts(); c.Cuts = nil; return had },
	"all ranks are in a cut": func(c *mutant) bool { return c.hasCuts() && c.everywhere() },
	"no length is left":      func(c *mutant) bool { had := c.hasLengths(); c.Lengths = nil; return had },
	"lengths are of one link": func(c *mutant) bool {
		if !c.hasLengths() {
			return false
		}
		c.Lengths = append(c.Lengths, c.Lengths[c.r.IntN(len(c.Lengths))])
		return true
	},
	"a length is below 0": func(c *mutant) bool {
		if c.hasLengths() {
			c.Lengths[c.r.IntN(len(c.Lengths))].Value *= -1
		}
		return c.hasLengths()
	},
	"a length is of no link": func(c *mutant) bool {
		if c.hasLengths() {
			l := &c.Lengths[c.r.IntN(len(c.Lengths))]
			l.To = l.From
		}
		return c.hasLengths()
	},
	"a route ends elsewhere": func(c *mutant) bool {
		t, _ := c.tree()
		if n := len(t.Hops); n > 1 && c.hasLengths() {
			t.Hops = t.Hops[:n-1]
			return true
		}
		return false
	},
	"a cut weighs nothing": func(c *mutant) bool {
		for i := range c.Cuts {
			c.Cuts[i].Weight = "0"
		}
		return c.hasCuts()
	},
	"a cut counts the other direction": func(c *mutant) bool {
		if c.Collective == ir.AllReduce.String() || !c.hasCuts() {
			return false // it may be as good a proof
		}
		c.Cuts[0].Into = !c.Cuts[0].Into
		return true
	},
	"a cut has a place twice": func(c *mutant) bool {
		if !c.hasCuts() {
			return false
		}
		k := &c.Cuts[c.r.IntN(len(c.Cuts))]
		k.Places = append(k.Places, k.Places[0])
		return true
	},
	"a cut has another place": (*mutant).toggle,
	"a rank is elsewhere": func(c *mutant) bool {
		i := c.r.IntN(len(c.Ranks))
		c.Ranks[i] = c.other(len(c.Places), c.Ranks[i])
		return true
	},
	"a place has another name": func(c *mutant) bool { c.Places[c.r.IntN(len(c.Places))] += "0"; return true },
	"it is of another collective": func(c *mutant) bool {
		at := slices.IndexFunc(certificate.Kinds, func(k ir.Kind) bool { return k.String() == c.Collective })
		c.Collective = certificate.Kinds[c.other(len(certificate.Kinds), at)].String()
		return true
	},
	"a link is down": func(c *mutant) bool {
		w := c.way()
		t := &topology.Topology{Name: c.m.Name, Nodes: c.m.Nodes, GPUs: c.m.GPUs, Classes: c.m.Classes, Places: c.m.Places}
		t.Links = slices.DeleteFunc(slices.Clone(c.m.Links), func(l topology.Link) bool {
			return l.From == int32(w.Places[0]) && l.To == int32(w.Places[1]) ||
				l.To == int32(w.Places[0]) && l.From == int32(w.Places[1])
		})
		c.m = t
		return true
	},
}

// hasCuts and hasLengths say what proves the bound.
func (c *mutant) hasCuts() bool    { return len(c.Cuts) > 0 }
func (c *mutant) hasLengths() bool { return len(c.Lengths) > 0 }

// everywhere has all ranks in some cut.
func (c *mutant) everywhere() bool {
	k := &c.Cuts[c.r.IntN(len(c.Cuts))]
	k.Places = nil
	for p := range c.Places {
		k.Places = append(k.Places, p)
	}
	return true
}

// toggle adds a place to the cut, or takes it away. The certificate is false where the new cut allows more.
func (c *mutant) toggle() bool {
	if c.Collective == ir.AllReduce.String() || !c.hasCuts() {
		return false
	}
	k := &c.Cuts[0]
	p := c.r.IntN(len(c.Places))
	if i := slices.Index(k.Places, p); i >= 0 {
		k.Places = slices.Delete(slices.Clone(k.Places), i, i+1)
	} else {
		k.Places = append(slices.Clone(k.Places), p)
	}
	in := func(p int32) bool { return slices.Contains(k.Places, int(p)) }
	counts := make([]int64, len(c.Ranks))
	for _, t := range append(slices.Clone(c.Spread), c.Gather...) {
		counts[t.Root] += t.Count
	}
	var weight, total, sum int64
	for r, n := range counts {
		if total += n; in(int32(c.Ranks[r])) {
			weight += n
		}
	}
	for _, l := range c.m.Links {
		if a, b := in(l.From), in(l.To); a != b && b == k.Into {
			sum += int64(l.Width) * 1000
		}
	}
	bound, _ := new(big.Rat).SetString(c.Bound)
	return weight == 0 || big.NewRat(sum, 1).Cmp(new(big.Rat).Mul(bound, big.NewRat(weight, total))) > 0
}

// TestMutations holds that the checker rejects certificates that a change at random made false, and that a program is
// not that of a certificate whose tree was changed. MSCCLC_RANDOM=N asks for changes of N certificates, and
// MSCCLC_SEED=K begins with the K-th; docs/measured.md has the results of 500.
func TestMutations(t *testing.T) {
	first, n := irtest.First(t), irtest.Count(t, 15)
	names := []string{}
	for name := range mutations {
		names = append(names, name)
	}
	slices.Sort(names)
	mutants, programs := 0, 0
	for seed := first; seed < first+n; seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), 93))
		m := anyMachine(r)
		kind := certificate.Kinds[seed%len(certificate.Kinds)]
		found, err := Find(context.Background(), m, Request{Kind: kind, Chunks: 1 + r.IntN(3)})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		text, err := json.Marshal(&found.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			c := &mutant{r, m, &certificate.Certificate{}}
			if err := json.Unmarshal(text, c.Certificate); err != nil {
				t.Fatal(err)
			}
			if !mutations[name](c) {
				continue
			}
			mutants++
			if _, err := certificate.Check(c.Certificate, c.m, certificate.Part{}); err == nil {
				t.Errorf("seed %d: %v of %d GPUs: %s, and it is accepted", seed, kind, m.GPUs, name)
			}
		}
		if other := otherProgram(t, found, r); other != nil {
			if programs++; Matches(&found.Certificate, other) == nil {
				t.Errorf("seed %d: %v of %d GPUs: a program of other trees is accepted", seed, kind, m.GPUs)
			}
		}
	}
	t.Logf("%d certificates: %d mutants and %d programs of other trees are rejected", n, mutants, programs)
}

// otherProgram returns the chunk DAG of a program in which a rank of one tree has another parent, or nil.
func otherProgram(t *testing.T, found *Result, r *rand.Rand) *ir.ChunkDAG {
	t.Helper()
	p := found.Plan
	list := &p.Spread
	if len(*list) == 0 {
		list = &p.Gather
	}
	*list = slices.Clone(*list)
	if !regrow(p.Kind, &(*list)[r.IntN(len(*list))], r) {
		return nil
	}
	f, err := syntax.Parse("other.mscl", []byte(p.Text()))
	if err != nil {
		t.Fatal(err)
	}
	d, err := lang.Expand(f, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// regrow gives the last rank of a tree another parent: of a route, its root.
func regrow(kind ir.Kind, tree *Tree, r *rand.Rand) bool {
	n := len(tree.Hops)
	if n < 2 {
		return false
	}
	tree.Hops = slices.Clone(tree.Hops)
	last := &tree.Hops[n-1]
	if kind == ir.AllToAll {
		last.From = tree.Root
		tree.Hops = tree.Hops[n-1:]
		return true
	}
	has := []int32{tree.Root}
	for _, h := range tree.Hops[:n-1] {
		has = append(has, h.To)
	}
	at := slices.Index(has, last.From)
	last.From = has[(at+1+r.IntN(len(has)-1))%len(has)]
	return true
}

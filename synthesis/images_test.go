package synthesis

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/synthesis/certificate"
	"mscclc/topology"
)

// unfolded returns a certificate that lists all images of the trees of another one.
func unfolded(c *certificate.Certificate) *certificate.Certificate {
	all := *c
	all.Generators = nil
	first := make([]int, len(c.Places))
	for p := range first {
		first[p] = p
	}
	images := [][]int{first} // indexed by image and by place
	for _, one := range c.Generators {
		for size, turn := len(images), one; !slices.Equal(turn, first); turn = after(turn, one) {
			for _, at := range images[:size] {
				images = append(images, after(at, turn))
			}
		}
	}
	all.Spread, all.Gather = imagesOf(c, c.Spread, images), imagesOf(c, c.Gather, images)
	return &all
}

// after returns where places go first as one says and then as another.
func after(one, other []int) []int {
	next := make([]int, len(one))
	for p, to := range one {
		next[p] = other[to]
	}
	return next
}

func imagesOf(c *certificate.Certificate, list []certificate.Tree, images [][]int) (all []certificate.Tree) {
	for _, at := range images {
		rank := func(r int) int { return slices.Index(c.Ranks, at[c.Ranks[r]]) }
		for _, t := range list {
			one := certificate.Tree{Root: rank(t.Root), Count: t.Count}
			for _, h := range t.Hops {
				hop := certificate.Hop{From: rank(h.From), To: rank(h.To)}
				for _, w := range h.Ways {
					way := certificate.Way{Count: w.Count}
					for _, p := range w.Places {
						way.Places = append(way.Places, at[p])
					}
					hop.Ways = append(hop.Ways, way)
				}
				one.Hops = append(one.Hops, hop)
			}
			all = append(all, one)
		}
	}
	return all
}

// generator returns some generator.
func (c *mutant) generator() []int { return c.Generators[c.r.IntN(len(c.Generators))] }

// generated are changes of generators that make a certificate false, or report that they may not.
var generated = map[string]func(c *mutant) bool{
	"all generators are missing": func(c *mutant) bool { c.Generators = nil; return c.Collective != ir.AllReduce.String() },
	"an orbit is missing": func(c *mutant) bool {
		i := c.r.IntN(len(c.Generators))
		c.Generators = slices.Delete(c.Generators, i, i+1)
		return c.Collective != ir.AllReduce.String()
	},
	"trees are used too often": func(c *mutant) bool {
		c.Generators = append(c.Generators, slices.Clone(c.generator()))
		return true
	},
	"a generator stays": func(c *mutant) bool {
		one := c.generator()
		for p := range one {
			one[p] = p
		}
		return c.Collective != ir.AllReduce.String()
	},
	"a generator is no symmetry": func(c *mutant) bool {
		one := c.generator()
		i := c.r.IntN(len(one))
		j := c.other(len(one), i)
		one[i], one[j] = one[j], one[i]
		return false // of places that no tree goes over, the change is harmless
	},
	"two ranks are swapped": func(c *mutant) bool {
		one := c.generator()
		i := c.r.IntN(len(c.Ranks))
		j := c.other(len(c.Ranks), i)
		one[i], one[j] = one[j], one[i]
		return false
	},
	"another generator for one": func(c *mutant) bool {
		one := c.generator()
		copy(one, c.generator())
		return false
	},
	"a generator takes two places to one": func(c *mutant) bool {
		one := c.generator()
		i := c.r.IntN(len(one))
		one[i] = one[c.other(len(one), i)]
		return true
	},
	"a generator leads outside": func(c *mutant) bool {
		one := c.generator()
		one[c.r.IntN(len(one))] = []int{-1, len(one)}[c.r.IntN(2)]
		return true
	},
	"a generator is too short": func(c *mutant) bool { c.Generators[0] = c.Generators[0][1:]; return true },
	"a GPU goes to a switch": func(c *mutant) bool {
		if len(c.Places) == len(c.Ranks) {
			return false
		}
		one := c.generator()
		i := c.r.IntN(len(c.Ranks))
		j := len(c.Ranks) + c.r.IntN(len(c.Places)-len(c.Ranks))
		one[i], one[j] = one[j], one[i]
		return true
	},
	"a tree is listed twice": func(c *mutant) bool {
		t, _ := c.tree()
		only := len(c.Spread)+len(c.Gather) == 1
		if len(c.Spread) > 0 {
			c.Spread = append(c.Spread, *t)
		} else {
			c.Gather = append(c.Gather, *t)
		}
		return only // of two, the other one may go over the busiest link
	},
	"it is of AllToAll": func(c *mutant) bool { c.Collective = ir.AllToAll.String(); return true },
}

// TestImages holds that a certificate that names generators says what the one with all trees says, and that the checker
// rejects it where a change at random made it false. What it accepts after a change is true of all trees.
// MSCCLC_RANDOM=N asks for changes of N certificates, and MSCCLC_SEED=K begins with the K-th.
func TestImages(t *testing.T) {
	h100 := machine(t, "dgx_h100:nodes=2")
	machines := []*topology.Topology{torus(3, 3), torus(2, 4), torus(4, 4), h100, torus(1, 5)}
	first, n := irtest.First(t), irtest.Count(t, 15)
	mutants, harmless := 0, 0
	for seed := first; seed < first+n; seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), 94))
		m := machines[seed%len(machines)]
		kind := []ir.Kind{ir.AllGather, ir.ReduceScatter, ir.AllReduce}[seed/len(machines)%3]
		found, err := Find(t.Context(), m, Request{Kind: kind, Alike: true, Chunks: 1 + r.IntN(3)})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if trees := len(found.Certificate.Spread); len(found.Certificate.Generators) == 0 || trees > 3 {
			t.Fatalf("seed %d: %s: %d generators, %d trees", seed, m.Name, len(found.Certificate.Generators), trees)
		}
		alikeVerdicts(t, &found.Certificate, m)
		text, err := json.Marshal(&found.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range []map[string]func(c *mutant) bool{generated, mutations} {
			for _, name := range slices.Sorted(maps.Keys(list)) {
				c := &mutant{r, m, &certificate.Certificate{}}
				if err := json.Unmarshal(text, c.Certificate); err != nil {
					t.Fatal(err)
				}
				surely := list[name](c)
				_, err := certificate.Check(c.Certificate, c.m, certificate.Part{})
				_, isNew := generated[name]
				switch {
				case err != nil:
					mutants++
				case surely && isNew:
					t.Errorf("seed %d: %v of %s: %s, and it is accepted", seed, kind, m.Name, name)
				default:
					harmless++
					alikeVerdicts(t, c.Certificate, c.m)
				}
			}
		}
	}
	t.Logf("%d certificates: %d mutants are rejected, %d are true of all trees", n, mutants, harmless)
}

// alikeVerdicts holds that a certificate and the one with all trees are accepted and reach the same.
func alikeVerdicts(t *testing.T, c *certificate.Certificate, m *topology.Topology) {
	t.Helper()
	few, err := certificate.Check(c, m, certificate.Part{})
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	all, err := certificate.Check(unfolded(c), m, certificate.Part{})
	if err != nil {
		t.Fatalf("%s: %s is accepted with generators, and not with all trees: %v", m.Name, c.Collective, err)
	}
	if few.Reached.Cmp(all.Reached) != 0 {
		t.Errorf("%s: %s reaches %s MB/s, and with all trees %s", m.Name, c.Collective, few.Reached, all.Reached)
	}
}

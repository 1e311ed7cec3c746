package channels

import (
	"math/rand"
	"slices"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore/onesided"
)

// What CheckTurns says of programs of channels, and of what single changes make of them, is what runs of them show that
// hold back one access after the other. MSCCLC_RANDOM=N asks for N changes of each.
func TestChannelVerdictsAreTheExplorers(t *testing.T) {
	n := irtest.Count(t, 3)
	rnd := rand.New(rand.NewSource(1))
	counts := map[string]int{}
	for name, b := range rightChannels() {
		for seed := range n {
			p := b.ChannelProgram
			if seed > 0 {
				p = broken(p, rand.New(rand.NewSource(int64(seed))))
			}
			for turns := 1; turns <= 2; turns++ {
				g, _, list := CheckTurns(p, turns, verify.Options{})
				if g == nil {
					counts["has no meaning"]++
					continue
				}
				v, err := onesided.Explore(g, 1, rnd)
				switch {
				case err != nil:
					counts["too large"]++
				case v.Good() != (len(list) == 0):
					t.Errorf("%s, change %d: verify says\n%s, and the explorer %v", name, seed, texts(list), v)
				case v.Good():
					counts["accepted"]++
				default:
					counts["rejected"]++
				}
			}
		}
	}
	t.Log(counts)
}

// broken returns a copy of p with one change.
func broken(p *ir.ChannelProgram, rnd *rand.Rand) *ir.ChannelProgram {
	q := *p
	q.Ranks = slices.Clone(p.Ranks)
	r := &q.Ranks[rnd.Intn(len(q.Ranks))]
	r.Blocks = slices.Clone(r.Blocks)
	if len(r.Blocks) == 0 {
		return &q
	}
	ops := &r.Blocks[rnd.Intn(len(r.Blocks))]
	*ops = slices.Clone(*ops)
	if len(*ops) == 1 && len((*ops)[0].Body) > 0 {
		(*ops)[0].Body = slices.Clone((*ops)[0].Body)
		ops = &(*ops)[0].Body
	}
	if len(*ops) == 0 {
		return &q
	}
	i := rnd.Intn(len(*ops))
	o := &(*ops)[i]
	o.Channels, o.Srcs, o.Dsts = slices.Clone(o.Channels), slices.Clone(o.Srcs), slices.Clone(o.Dsts)
	switch rnd.Intn(5) {
	case 0:
		*ops = slices.Delete(*ops, i, i+1)
	case 1:
		*ops = slices.Insert(*ops, rnd.Intn(len(*ops)+1), meet)
	case 2:
		if i > 0 {
			(*ops)[i-1], (*ops)[i] = (*ops)[i], (*ops)[i-1]
		}
	case 3:
		if len(o.Channels) > 0 {
			o.Channels[rnd.Intn(len(o.Channels))] ^= 1
		}
		if len(o.Srcs) > 0 {
			o.Srcs[rnd.Intn(len(o.Srcs))].Index += int32(rnd.Intn(3) - 1)
		}
	case 4:
		if o.Kind >= ir.ChSignal && o.Kind <= ir.ChAwait {
			o.Kind += 2
		} else if len(o.Dsts) > 0 {
			o.Dsts[rnd.Intn(len(o.Dsts))].Index ^= 1
		}
	}
	return &q
}

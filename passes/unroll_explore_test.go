package passes

import (
	"math/rand"
	"testing"

	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore"
)

// What CheckTurns says of programs of channels, and of what single changes make of them, is what runs of them show that hold back one
// access after the other. MSCCLC_RANDOM=N asks for N changes of each.
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
				v, err := explore.OneSided(g, 1, rnd)
				switch {
				case err != nil:
					counts["too large"]++
				case v.Good() != (len(list) == 0):
					t.Errorf("%s, change %d: verify says\n%s, and the explorer %v", name, seed, told(list), v)
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

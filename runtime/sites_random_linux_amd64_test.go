package runtime_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestSitesRandom has calls of all sites fail at random, with all scenes at once. MSCCLC_LIBRARY_FAULTS says for how
// long, such as 10m. Without it a few rounds are played.
func TestSitesRandom(t *testing.T) {
	text := os.Getenv("MSCCLC_LIBRARY_FAULTS")
	long, err := time.ParseDuration(text)
	if text != "" && err != nil {
		t.Fatalf("MSCCLC_LIBRARY_FAULTS=%s: %v", text, err)
	}
	c, scenes := newCampaign(t)
	counts, rounds, most := map[string]int{}, 0, 8
	if long > 0 {
		most = 20
	}
	end := time.Now().Add(long)
	var parts atomic.Int64
	each(make([]int, atOnce), func(int) {
		for n := int(parts.Add(1) - 1); n < len(scenes) || time.Now().Before(end); n = int(parts.Add(1) - 1) {
			played, ends := c.randomly(scenes[n%len(scenes)], rand.New(rand.NewPCG(uint64(n), uint64(long))), most)
			c.mu.Lock()
			rounds += played
			for how, n := range ends {
				counts[how] += n
			}
			c.mu.Unlock()
		}
	})
	t.Logf("%d rounds", rounds)
	for _, how := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d %s", counts[how], how)
	}
}

// randomly plays some rounds of a scene, and returns how many there were, and how they ended.
func (c *campaign) randomly(s *faultScene, random *rand.Rand, rounds int) (int, map[string]int) {
	p := c.start(s)
	defer p.end()
	ends := map[string]int{}
	for range rounds {
		oneIn, seed := []int{30, 100, 300, 1000}[random.IntN(4)], random.Uint64()
		lines, fired, answer := p.ask("random %x %x", oneIn, seed)
		if bad(answer) {
			c.t.Errorf("%s, one call in %d, seed %x: %s%s\nfailed: %s\n%s", s.name, oneIn, seed, answer, c.left(s, lines),
				c.failed(s, lines), p.err)
			p.err.Reset()
		}
		how, _, _ := strings.Cut(answer, ":")
		if !fired {
			how += " (no call failed)"
		}
		ends[how]++
	}
	return rounds, ends
}

// failed says which calls failed in a round.
func (c *campaign) failed(s *faultScene, lines []string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, line := range lines {
		var at uint64
		if n, _ := fmt.Sscanf(line, "failed %x", &at); n == 1 {
			key := c.tables[s.how].of[at]
			if key == "" {
				file, number := c.tables[s.how].lines.find(at - 1)
				key = fmt.Sprintf("%s:%d", file, number)
			}
			list = append(list, key)
		}
	}
	return strings.Join(list, ", ")
}

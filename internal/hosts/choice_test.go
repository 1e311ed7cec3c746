//go:build linux

package hosts_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"mscclc/internal/covering"
	"mscclc/internal/hosts"
)

// far is how many times as long as the best that --tune finds a program that is chosen may take.
const far = 1.3

// A choosing is jobs of two hosts, a process each, that tune AllReduce and then choose. Only process 0 has a cache.
type choosing struct {
	t     *testing.T
	on    *hosts.Network
	cache string
}

// run runs bench at one size, and returns what process 0 says.
func (c *choosing) run(bytes string, args ...string) string {
	c.t.Helper()
	env := func(process int) []string {
		if process == 0 {
			return []string{"MSCCLC_CACHE=" + c.cache}
		}
		return nil
	}
	args = append([]string{"bench", "allreduce", "-b", bytes, "-e", bytes, "--place", "out"}, args...)
	j := startEach(c.t, c.on, 1, env, args...)
	for i, code := range j.wait() {
		if code != 0 {
			c.t.Fatalf("%s: process %d ended with %d: %s", strings.Join(args, " "), i, code, j.out[i].String())
		}
	}
	return j.out[0].String()
}

// tune returns the best that a short search finds, and its time in us.
func (c *choosing) tune(bytes string) (program string, micros float64) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "best.table")
	c.run(bytes, "--tune", "--tune-time", "1s", "-o", file)
	text, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	var table struct {
		Entries []struct {
			Rules []struct {
				Program string
				Us      float64
			}
		}
	}
	if err := json.Unmarshal(text, &table); err != nil {
		c.t.Fatal(err)
	}
	rule := table.Entries[0].Rules[0]
	return rule.Program, rule.Us
}

var row = regexp.MustCompile(`(?m)^ +\d+ +\d+ +bfloat16 +sum +-1 +([\d.]+) .* plain, (\S+)`)

// choose returns what is chosen, its time in us, and all that is said.
func (c *choosing) choose(bytes string) (program string, micros float64, said string) {
	c.t.Helper()
	said = c.run(bytes, "--replays", "15")
	found := row.FindStringSubmatch(said)
	if found == nil {
		c.t.Fatalf("no row: %s", said)
	}
	micros, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return "allreduce/" + found[2], micros, said
}

// otherWork is how many processors may be busy with other work where times are judged.
const otherWork = 0.3

// busy returns how many processors are busy while no job runs.
func busy(t *testing.T) float64 {
	t.Helper()
	idle := func() float64 { // of all processors, in seconds
		text, err := os.ReadFile("/proc/uptime")
		if err != nil {
			t.Fatal(err)
		}
		seconds, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return seconds
	}
	before, begin := idle(), time.Now()
	time.Sleep(time.Second)
	return float64(runtime.NumCPU()) - (idle()-before)/time.Since(begin).Seconds()
}

// again judges the time of what is chosen by the best that a search finds. Both are measured up to four times more
// before that is an error, and it is none beside other work.
func (c *choosing) again(bytes string, least, took float64) (float64, float64) {
	c.t.Helper()
	before := 0.0
	for range 4 {
		if took <= far*least {
			return least, took
		}
		before = max(before, busy(c.t))
		_, least = c.tune(bytes)
		_, took, _ = c.choose(bytes)
	}
	switch after := busy(c.t); {
	case took <= far*least:
	case max(before, after) > otherWork:
		c.t.Logf("%s: not judged: other work keeps %.2f processors busy", bytes, max(before, after))
	default:
		c.t.Errorf("%s: what is chosen takes %.0f us, and the best %.0f us", bytes, took, least)
	}
	return least, took
}

// TestChoice tunes AllReduce on two hosts over TCP. The same hosts then choose what was found, also process 1, which
// has no cache. Where limits are exact, what is chosen takes at most 1.3 times as long as the best of the search.
func TestChoice(t *testing.T) {
	hasUCX(t)
	c := &choosing{t, hosts.New(t, 2), t.TempDir()}
	for _, bytes := range []string{"1K", "64K", "1M"} {
		simulated, before, said := c.choose(bytes)
		if strings.Contains(said, "found on these hosts") {
			t.Fatalf("%s: an empty cache has something: %s", bytes, said)
		}
		best, least := c.tune(bytes)
		chosen, took, said := c.choose(bytes)
		if chosen != best || !strings.Contains(said, "what bench --tune found on these hosts") {
			t.Errorf("%s: %s is chosen, and %s was found: %s", bytes, chosen, best, said)
		}
		if covering.Exact() {
			least, took = c.again(bytes, least, took)
		}
		t.Logf("%s: simulation chose %s, %.0f us; --tune found %s, %.0f us; chosen then: %s, %.0f us",
			bytes, simulated, before, best, least, chosen, took)
		if err := os.RemoveAll(filepath.Join(c.cache, "hosts")); err != nil { // 64K is not chosen by 1K
			t.Fatal(err)
		}
	}
}

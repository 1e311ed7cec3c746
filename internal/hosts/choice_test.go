//go:build linux

package hosts_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mscclc/internal/hosts"
	"mscclc/selection"
)

// A choosing is jobs of two hosts, a process each, that tune AllReduce and then choose. Only process 0 has a cache.
type choosing struct {
	t     *testing.T
	on    *hosts.Network
	cache string
}

// run runs a command at one size, and returns what process 0 says.
func (c *choosing) run(command, bytes string, args ...string) string {
	c.t.Helper()
	env := func(process int) []string {
		if process == 0 {
			return []string{"MSCCLC_CACHE=" + c.cache}
		}
		return nil
	}
	args = append([]string{command, "allreduce", "-b", bytes, "-e", bytes, "--place", "out"}, args...)
	j := startEach(c.t, c.on, 1, env, args...)
	for i, code := range j.wait() {
		if code != 0 {
			c.t.Fatalf("%s: process %d ended with %d: %s", strings.Join(args, " "), i, code, j.out[i].String())
		}
	}
	return j.out[0].String()
}

// tune returns the best that a short search finds, and its time in us.
func (c *choosing) tune(bytes string) (form string, micros float64) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "best.table")
	c.run("search", bytes, "--time", "1s", "-o", file)
	text, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	var table struct {
		Entries []struct {
			Rules []struct {
				selection.Choice
				Us float64
			}
		}
	}
	if err := json.Unmarshal(text, &table); err != nil {
		c.t.Fatal(err)
	}
	rule := table.Entries[0].Rules[0]
	rule.Program = strings.TrimPrefix(rule.Program, "allreduce/")
	return rule.String(), rule.Us
}

var row = regexp.MustCompile(`(?m)^ +\d+ +\d+ +bfloat16 +sum +-1 +([\d.]+) .* plain, (.+)$`)

// choose returns what is chosen, its time in us, and all that is said.
func (c *choosing) choose(bytes string) (form string, micros float64, said string) {
	c.t.Helper()
	said = c.run("bench", bytes, "--replays", "15")
	found := row.FindStringSubmatch(said)
	if found == nil {
		c.t.Fatalf("no row: %s", said)
	}
	micros, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return found[2], micros, said
}

// TestChoice searches the fastest AllReduce on two hosts over TCP. The same hosts then choose what was found, in its
// form and width, and so does process 1, which has no cache. Times are printed and not judged: the same program takes
// 0.2 to 1 ms at 64K, as its connections are new or not.
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
		if chosen != best || !strings.Contains(said, "what mscclc search found on these hosts") {
			t.Errorf("%s: %s is chosen, and %s was found: %s", bytes, chosen, best, said)
		}
		t.Logf("%s: simulation chose %s, %.0f us; search found %s, %.0f us; chosen then: %s, %.0f us",
			bytes, simulated, before, best, least, chosen, took)
		if err := os.RemoveAll(filepath.Join(c.cache, "hosts")); err != nil { // 64K is not chosen by 1K
			t.Fatal(err)
		}
	}
}

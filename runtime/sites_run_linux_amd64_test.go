package runtime_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mscclc/internal/covering"
	library "mscclc/runtime"
)

// A reach is how a scene comes to a site: the address, and the phases of the program in which it is called. first is
// the address of a call that must fail before, or 0.
type reach struct {
	scene     *faultScene
	at, first uint64
	phases    []string
}

func (r reach) steady() bool { return slices.Contains(r.phases, "3") }

// A campaign has sites fail.
type campaign struct {
	t       *testing.T
	tables  map[string]*siteTable // by how the library is loaded
	bundles map[*faultScene]string
	took    map[*faultScene]time.Duration
	way     map[*faultScene]string // how a scene ends without a fault
	mu      sync.Mutex
	reached map[string][]reach
	ended   int // trials
}

// known is what all campaigns begin with: the scenes, and the sites that they reach.
var known struct {
	sync.Once
	campaign
	scenes []*faultScene
}

// newCampaign returns a campaign that knows which sites scenes reach.
func newCampaign(t *testing.T) (*campaign, []*faultScene) {
	known.Do(func() { known.scenes = known.campaign.begin(t) })
	if known.scenes == nil {
		t.Fatal("the scenes do not play without a fault")
	}
	c := &campaign{t: t, tables: known.tables, bundles: known.bundles, took: known.took, way: known.way}
	c.reached = maps.Clone(known.reached)
	return c, known.scenes
}

// begin plays all scenes once, and notes which sites they reach.
func (c *campaign) begin(t *testing.T) (scenes []*faultScene) {
	dir, err := faulty()
	if err != nil {
		t.Fatal(err)
	}
	preload := readSites(t, filepath.Join(dir, library.PreloadLibrary))
	forward := readSites(t, filepath.Join(dir, library.NCCLLibrary))
	*c = campaign{t: t, tables: map[string]*siteTable{"preload": preload, "alone": forward, "forward": forward},
		bundles: map[*faultScene]string{}, took: map[*faultScene]time.Duration{}, way: map[*faultScene]string{},
		reached: map[string][]reach{}}
	for _, s := range faultScenes() {
		if only := os.Getenv("MSCCLC_SCENE"); only == "" || only == s.name {
			scenes = append(scenes, s)
		}
	}
	for i, s := range scenes {
		c.bundles[s] = filepath.Join(dir, fmt.Sprintf("%d.bundle", i))
		if err := os.WriteFile(c.bundles[s], s.bundled(t, s.ranks), 0o600); err != nil {
			t.Fatal(err)
		}
		if s.owner == 0 {
			continue
		}
		if err := cmp.Or(os.Chmod(c.bundles[s], 0o644), os.Chown(c.bundles[s], s.owner, s.owner)); err != nil {
			t.Fatal(err)
		}
	}
	each(scenes, c.record)
	if t.Failed() {
		t.FailNow()
	}
	return scenes
}

// atOnce is how many programs run at once: they mostly wait.
const atOnce = 4

// each does something for all of a list, for some at once.
func each[T any](list []T, do func(T)) {
	var wait sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for _, one := range list {
		wait.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			do(one)
		})
	}
	wait.Wait()
}

// TestSites has each call of the C library and of the driver that the library makes fail once, by its place in the
// sources. The calls of the program then succeed with right data, or give an error; nothing crashes, hangs or leaks.
func TestSites(t *testing.T) {
	c, scenes := newCampaign(t)
	first := maps.Clone(c.reached)
	c.fail(first, scenes)
	maps.DeleteFunc(c.reached, func(key string, _ []reach) bool { return first[key] != nil })
	c.fail(c.reached, scenes) // what is called only where another call has failed
	maps.Copy(c.reached, first)
	stale := maps.Clone(unreached)
	all := maps.Clone(c.tables["preload"].sites)
	maps.Copy(all, c.tables["forward"].sites)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		why := unreached[shortOf(key)]
		if os.Geteuid() != 0 && strings.HasPrefix(key, "runtime/src/bundle/trust.cc:") {
			why = "a bundle of another user: only root can make one"
		}
		if covering.CI() && c.reached[key] == nil && why == "" && !strings.HasPrefix(key, "transport/") {
			t.Errorf("no run reaches %s", key)
		}
		if c.reached[key] == nil {
			delete(stale, shortOf(key))
		}
	}
	for short := range stale {
		if covering.CI() {
			t.Errorf("unreached has %s, and each such call is reached", short)
		}
	}
	t.Logf("%d sites, %d trials", len(all), c.ended)
}

// record notes which sites a scene reaches.
func (c *campaign) record(s *faultScene) {
	begin := time.Now()
	p := startPlayer(c.t, s, c.bundles[s])
	lines, _, answer := p.ask("record")
	p.end()
	took := time.Since(begin)
	c.mu.Lock()
	c.took[s], c.way[s] = took, answer
	c.mu.Unlock()
	c.t.Logf("%s: %s after %v", s.name, answer, took)
	if bad(answer) {
		c.t.Errorf("%s: %s\n%s", s.name, answer, p.err)
	}
	c.note(s, lines, 0)
}

// note adds the sites that a program has reached.
func (c *campaign) note(s *faultScene, lines []string, first uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	here := map[string]*reach{}
	for _, line := range lines {
		var phase, name string
		var at uint64
		if n, _ := fmt.Sscanf(line, "site %s %x %s", &phase, &at, &name); n != 3 {
			continue
		}
		key, err := c.tables[s.how].site(at, name)
		if err != nil {
			c.t.Error(err)
		}
		if key == "" {
			continue
		}
		if here[key] == nil {
			here[key] = &reach{scene: s, at: at, first: first}
		}
		here[key].phases = append(here[key].phases, phase)
	}
	for key, r := range here {
		if first == 0 || c.reached[key] == nil {
			c.reached[key] = append(c.reached[key], *r)
		}
	}
}

// interrupted are calls that a signal may end before they have done anything. Who calls them calls again.
var interrupted = strings.Fields("read write pread recv send recvmsg sendmsg accept4 poll epoll_wait")

// A trial is a site that is to fail in a scene.
type trial struct {
	key string
	reach
}

// name is the name of what is called.
func (t trial) name() string { return t.key[strings.LastIndex(t.key, " ")+1:] }

// fail has sites fail: for CI each in the cheapest scene that reaches it, by default a twelfth of them, and where all
// is asked for each in all scenes. MSCCLC_SITE names one.
func (c *campaign) fail(sites map[string][]reach, scenes []*faultScene) {
	of := map[*faultScene][]trial{}
	for i, key := range slices.Sorted(maps.Keys(sites)) {
		only := os.Getenv("MSCCLC_SITE")
		if !strings.Contains(key, only) || (only == "" && !covering.CI() && !covering.Takes(i, 12)) {
			continue
		}
		ways := slices.Clone(sites[key])
		slices.SortStableFunc(ways, func(a, b reach) int {
			if a.steady() != b.steady() {
				return map[bool]int{true: -1, false: 1}[a.steady()]
			}
			return cmp.Compare(c.took[a.scene], c.took[b.scene])
		})
		if !covering.Full() {
			ways = ways[:1]
		}
		for _, r := range ways {
			of[r.scene] = append(of[r.scene], trial{key, r})
		}
	}
	type part struct {
		scene  *faultScene
		trials []trial
	}
	var parts []part
	for _, s := range scenes {
		for trials := range slices.Chunk(of[s], 25) {
			parts = append(parts, part{s, trials})
		}
	}
	each(parts, func(p part) { c.play(p.scene, p.trials) })
}

// start starts a program that has learnt what it usually has open.
func (c *campaign) start(s *faultScene) *player {
	p := startPlayer(c.t, s, c.bundles[s])
	p.ask("record")
	c.mu.Lock()
	keys := maps.Clone(c.tables[s.how].of)
	c.mu.Unlock()
	for at, key := range keys {
		if remains(c.t, key) {
			p.ask("stays %x", at)
		}
	}
	return p
}

// play has some sites fail in a scene.
func (c *campaign) play(s *faultScene, trials []trial) {
	p := c.start(s)
	defer p.end()
	for _, one := range trials {
		begin := time.Now()
		how, at, next := "fresh", one.at, uint64(0)
		if one.steady() {
			how = "steady"
		}
		if one.first != 0 {
			at, next = one.first, one.at
		}
		lines, fired, answer := p.ask("%s %x %x", how, at, next)
		if !fired && how == "steady" && !bad(answer) {
			how = "then fresh"
			lines, fired, answer = p.ask("fresh %x %x", at, next)
		}
		if next == 0 {
			c.note(s, lines, at)
		}
		answer += c.left(s, lines)
		if how == "steady" && next == 0 && slices.Contains(interrupted, one.name()) && !bad(answer) {
			if lines, _, signal := p.ask("signal %x", at); signal != c.way[s] {
				answer = "wrong after a signal: " + signal + c.left(s, lines)
			}
		}
		took := time.Since(begin).Round(time.Millisecond)
		text := fmt.Sprintf("%s, %s, %s: %t %s (%v)", one.key, s.name, how, fired, answer, took)
		if bad(answer) {
			c.t.Errorf("%s\n%s", text, p.err)
			p.err.Reset()
		} else {
			c.t.Log(text)
		}
		c.mu.Lock()
		c.ended++
		c.mu.Unlock()
	}
}

// left says which calls have made what is left.
func (c *campaign) left(s *faultScene, lines []string) (text string) {
	for _, line := range lines {
		var at uint64
		var n int
		var kind string
		if k, _ := fmt.Sscanf(line, "left %x %d %s", &at, &n, &kind); k == 3 {
			file, line := c.tables[s.how].lines.find(at - 1)
			text += fmt.Sprintf("; %d %s of %s:%d", n, kind, file, line)
		}
	}
	return text
}

// bad says whether an answer reports a fault of the library.
func bad(answer string) bool {
	word, _, _ := strings.Cut(answer, ":")
	word, _, _ = strings.Cut(word, " ")
	return slices.Contains([]string{"crash", "hang", "wrong", "left", "before"}, word)
}

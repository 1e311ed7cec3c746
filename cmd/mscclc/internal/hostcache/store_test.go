package hostcache

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/exchange"
	"mscclc/ir"
	"mscclc/selection"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// A user is a run of the command, and what it says.
type user struct {
	*cli.App
	said bytes.Buffer
}

func newUser() *user {
	u := &user{}
	u.App = cli.NewApp(nil, strings.NewReader(""), io.Discard, &u.said, nil)
	return u
}

// open opens the cache in a process alone.
func open(t *testing.T, u *user, device string) *Store {
	t.Helper()
	s, err := Open(t.Context(), u.App, nil, nil, device)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var entry = choose.Call{Kind: ir.AllReduce, Ranks: 4}.Entry("cpu")

// ring is a rule.
var ring = selection.Rule{Choice: selection.Choice{Program: "allreduce/ring", Protocol: ir.Simple}, Micros: 7}

// has reports whether a store has the ring for calls of 64K.
func has(s *Store) bool {
	c := choose.Chooser{Device: "cpu", Here: s.Here()}
	return c.Source(choose.Call{Kind: ir.AllReduce, Ranks: 4}, 64<<10, 4) == choose.Tuned
}

// theFile returns the one file of the cache.
func theFile(t *testing.T, dir string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "hosts", "*"))
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	return list[0]
}

// TestKept: what was found is there for the next job on the same hosts and device, and for no other.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MSCCLC_CACHE", dir)
	u := newUser()
	first := open(t, u, "cpu")
	if has(first) {
		t.Error("an empty cache has something")
	}
	if _, err := os.Stat(filepath.Join(dir, "hosts")); err == nil {
		t.Error("reading makes a folder")
	}
	other := open(t, u, "cpu") // another job, at the same time
	first.Tuned(entry, ring, 64<<10)
	topo, err1 := topology.Source("cpu")
	costs, err2 := devices.SourceOf("cpu")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	other.Network([]byte(topo), costs)
	again := open(t, u, "cpu")
	if !has(again) || again.Here().Topology != topo || again.Here().Costs == nil {
		t.Errorf("not all was kept: %+v", again.Here())
	}
	if has(open(t, u, "NVIDIA H200")) {
		t.Error("another device has it too")
	}
	if u.said.Len() > 0 {
		t.Errorf("it says %s", u.said.String())
	}
}

// TestOdd: a file that is damaged, of another build, of other hosts or open to others does not count, and a note says
// so.
func TestOdd(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MSCCLC_CACHE", dir)
	kept := open(t, newUser(), "cpu")
	kept.Tuned(entry, ring, 64<<10)
	file := theFile(t, dir)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(d *document)) []byte {
		d := kept.doc
		change(&d)
		text, err := d.encode()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, c := range map[string]struct {
		text []byte
		says string
	}{
		"short":   {good[:len(good)/2], "it is damaged"},
		"flipped": {bytes.Replace(good, []byte("allreduce/ring"), []byte("allreduce/rinG"), 1), "it is damaged"},
		"foreign": {[]byte("something else\n"), "it is damaged"},
		"build":   {changed(func(d *document) { d.Build = "0.1" }), "another build of mscclc, 0.1"},
		"hosts":   {changed(func(d *document) { d.Nodes = []string{"elsewhere"} }), "found on other hosts"},
		"program": {changed(func(d *document) { d.Tuned = bytes.ReplaceAll(d.Tuned, []byte("ring"), []byte("gone")) }), "gone"},
		"network": {changed(func(d *document) { d.Topology = "topology" }), "not used"},
		"long":    {make([]byte, maxFile+1), "more than"},
	} {
		if err := os.WriteFile(file, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		u := newUser()
		s := open(t, u, "cpu")
		if said := u.said.String(); has(s) || strings.Count(said, "note:") != 1 || !strings.Contains(said, c.says) {
			t.Errorf("%s: %v, it says %q", name, has(s), said)
		}
		s.Tuned(entry, ring, 64<<10)
		if u = newUser(); !has(open(t, u, "cpu")) || u.said.Len() > 0 {
			t.Errorf("%s: it is not replaced: %s", name, u.said.String())
		}
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if u := newUser(); has(open(t, u, "cpu")) || !strings.Contains(u.said.String(), "open to others") {
		t.Errorf("a file that others read: %q", u.said.String())
	}
}

// TestUnkept: a place that cannot be written is noted once, and is no error. A cache that is off is not noted.
func TestUnkept(t *testing.T) {
	for _, c := range []struct {
		cache string
		notes int
	}{{"off", 0}, {filepath.Join(os.DevNull, "cache"), 1}, {"relative", 1}} {
		t.Setenv("MSCCLC_CACHE", c.cache)
		u := newUser()
		s := open(t, u, "cpu")
		s.Tuned(entry, ring, 64<<10)
		s.Tuned(entry, ring, 1<<20)
		if n := strings.Count(u.said.String(), "not kept"); n != c.notes {
			t.Errorf("%s: %d notes: %s", c.cache, n, u.said.String())
		}
	}
}

// TestAlike: all processes have what process 0 reads, in whatever order they are, and only for such nodes.
func TestAlike(t *testing.T) {
	t.Setenv("MSCCLC_CACHE", t.TempDir())
	job := func(node []int, do func(i int, s *Store)) {
		t.Helper()
		var wait sync.WaitGroup
		for i, x := range exchange.Group(len(node)) {
			wait.Go(func() {
				s, err := Open(t.Context(), newUser().App, x, node, "cpu")
				if err != nil {
					t.Error(err)
					return
				}
				do(i, s)
			})
		}
		wait.Wait()
	}
	job([]int{0, 0, 1, 1}, func(_ int, s *Store) { s.Tuned(entry, ring, 64<<10) })
	for _, c := range []struct {
		node []int
		want bool
	}{{[]int{0, 0, 1, 1}, true}, {[]int{0, 1, 0, 1}, true}, {[]int{0, 0, 0, 1}, false}, {[]int{0, 0, 0, 0}, false}} {
		job(c.node, func(i int, s *Store) {
			if has(s) != c.want {
				t.Errorf("nodes %v, process %d: %v", c.node, i, !c.want)
			}
		})
	}
}

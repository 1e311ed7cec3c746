//go:build linux

package hosts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mscclc/internal/hosts"
)

// TestTune tunes AllReduce on two hosts, over TCP and over shared memory, with a rank a process and with two. Process 0
// alone reports and writes the table, by which the same job then chooses. Ranks that are dealt in turn have an entry of
// their own.
func TestTune(t *testing.T) {
	hasUCX(t)
	n := hosts.New(t, 2)
	table := filepath.Join(t.TempDir(), "here.table")
	for _, c := range []struct {
		perHost      int
		env, entries string
	}{
		{2, "UCX_TLS=tcp,self", `"nodes":2,"collective":"allreduce"`},
		{1, "UCX_TLS=posix,self", `"nodes":2,"on":"0,1,0,1","collective":"allreduce"`},
	} {
		j := start(t, n, c.perHost, []string{c.env}, "search", "allreduce", "--ranks", "4", "-b", "1K", "-e", "1M",
			"-f", "1024", "--replays", "1", "--time", "1s", "-o", table)
		for i, code := range j.wait() {
			text := j.out[i].String()
			if code != 0 || (strings.Count(text, "allreduce out of place ") == 2) != (i == 0) || i > 0 && text != "" {
				t.Fatalf("process %d ended with %d: %s", i, code, text)
			}
		}
		text, err := os.ReadFile(table)
		if err != nil || strings.Count(string(text), c.entries) != 2 {
			t.Fatalf("%v: the table has no two entries with %s: %s", err, c.entries, text)
		}
		j = start(t, n, c.perHost, []string{c.env}, "bench", "allreduce", "--ranks", "4", "-b", "1K",
			"-e", "1M", "-f", "1024", "--replays", "1", "--table", table)
		for i, code := range j.wait() {
			text := j.out[i].String()
			if code != 0 || strings.Contains(text, "note:") || i == 0 && chosen(text) != 2 {
				t.Fatalf("process %d ended with %d: %s", i, code, text)
			}
		}
	}
}

// chosen counts the sizes all of whose launches a table chose. A row names what was launched once where both placements
// have it.
func chosen(text string) (rows int) {
	for line := range strings.Lines(text) {
		if n := strings.Count(line, " plain, "); n > 0 && n == 1+strings.Count(line, " | ") {
			rows++
		}
	}
	return rows
}

// TestTuneLost kills a process of a tuning when the first size is known: the other one ends with an error that names
// it, and the table has what is known.
func TestTuneLost(t *testing.T) {
	hasUCX(t)
	table := filepath.Join(t.TempDir(), "here.table")
	j := start(t, hosts.New(t, 2), 1, nil, "search", "allreduce", "--ranks", "4", "-b", "1K", "-e", "1M", "-f", "2",
		"--time", "1s", "-o", table)
	for end := time.Now().Add(time.Minute); !strings.Contains(j.out[0].String(), "1 KiB: "); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(j.out[0].String())
		}
	}
	j.processes[1].Process.Kill()
	codes := j.wait()
	text, err := os.ReadFile(table)
	if said := j.out[0].String(); codes[0] != 3 || !strings.Contains(said, "process 1") || err != nil ||
		!strings.Contains(string(text), `"up_to":1024,`) && !strings.Contains(string(text), `"up_to":2048,`) {
		t.Errorf("process 0 ended with %d, %v: %s\n%s", codes[0], err, said, text)
	}
}

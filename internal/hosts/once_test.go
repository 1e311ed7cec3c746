//go:build linux

package hosts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mscclc/internal/hosts"
)

// TestOnce: of the processes of a job that fails one reports the whole error, and the others the cause in a line. Those
// that fail before they meet wait for each other. A cause that one process alone has is reported by this one.
func TestOnce(t *testing.T) {
	hasUCX(t)
	n, dir := hosts.New(t, 2), t.TempDir()
	wrong, missing := filepath.Join(dir, "wrong.mscl"), filepath.Join(dir, "missing")
	text := "algorithm wrong(ranks = 4)\ncollective allgather(ranks)\nchunk(0, input, 0).copy(9, output, 0)\n"
	if err := os.WriteFile(wrong, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, env []string
		whole     int
		cause     string
	}{
		{[]string{"run", wrong}, nil, 0, "rank"},
		{[]string{"bench", wrong}, nil, 0, "rank"},
		{[]string{"run", "allreduce/ring", "--ranks", "4", "--sided", "two"}, nil, 0, "within one node"},
		{[]string{"bench", "allreduce/ring", "--ranks", "4", "-e", "1K", "--sided", "lowered"},
			[]string{"MSCCLC_NET=ncclnet:" + missing}, 0, "missing"},
	} {
		j := start(t, n, 2, c.env, c.args...)
		short := regexp.MustCompile(`(?m)\Amscclc: .*` + c.cause + `.*\(process ` + string(rune('0'+c.whole)) +
			` reports more\)\n\z`)
		for i, code := range j.wait() {
			said := j.out[i].String()
			if code <= 0 || short.MatchString(said) != (i != c.whole) || !strings.Contains(said, c.cause) {
				t.Errorf("%v: process %d ended with %d: %s", c.args, i, code, said)
			}
		}
	}
}

// TestOnceUsage: an error of usage is a line of each process.
func TestOnceUsage(t *testing.T) {
	hasUCX(t)
	j := start(t, hosts.New(t, 2), 2, nil, "bench", "allreduce", "--ranks", "3")
	for i, code := range j.wait() {
		if said := j.out[i].String(); code != 2 || said != "mscclc: there are 4 processes for 3 ranks\n" {
			t.Errorf("process %d ended with %d: %s", i, code, said)
		}
	}
}

// TestOnceLost: the first of the others reports in full that a process is lost.
func TestOnceLost(t *testing.T) {
	hasUCX(t)
	n := hosts.New(t, 2)
	for _, victim := range []int{0, 2} {
		j := under(t, n, nil, long...)
		j.processes[victim].Process.Kill()
		codes, whole := j.wait(), 0
		if victim == 0 {
			whole = 1
		}
		for i, code := range codes {
			said := j.out[i].String()
			_, last, _ := strings.Cut(said, "mscclc: process ")
			if i != victim && (code != 3 || strings.Contains(last, " reports more)\n") != (i != whole) ||
				strings.Count(last, "\n") > 1 || !strings.Contains(said, "is gone")) {
				t.Errorf("process %d was killed, and process %d ended with %d: %s", victim, i, code, said)
			}
		}
	}
}

//go:build linux

package hosts_test

import (
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"mscclc/internal/covering"
	"mscclc/internal/hosts"
)

// These tests have hosts, processes and links fail while a job runs. What it then says is right, or an error, on all
// processes. It never hangs.

// long is a job that takes minutes, if nothing stops it.
var long = []string{"bench", "allreduce/ring", "--ranks", "4", "--sided", "lowered", "-b", "64K", "-e", "64K",
	"--replays", "100000", "--replay-time", "50ms", "--timeout", "10s"}

// under starts a job, and waits until its processes have met. A little later they run the program. On a busy machine
// they may not: what is tested must hold before, too.
func under(t *testing.T, n *hosts.Network, env []string, args ...string) *job {
	t.Helper()
	return underWay(t, n, env, "(elements)", args...)
}

// underWay is under for a job of which process 0 says a text when the processes have met.
func underWay(t *testing.T, n *hosts.Network, env []string, met string, args ...string) *job {
	t.Helper()
	j := start(t, n, 2, env, args...)
	for begin := time.Now(); !strings.Contains(j.out[0].String(), met); time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("the processes do not meet: %s", j.out[0].String())
		}
	}
	time.Sleep(2 * time.Second)
	return j
}

// within waits for the end of processes, which must come before a limit that is generous.
func (j *job) within(t *testing.T, limit time.Duration) []int {
	t.Helper()
	done := make(chan []int)
	go func() { done <- j.wait() }()
	select {
	case codes := <-done:
		return codes
	case <-time.After(limit):
		for _, c := range j.processes {
			c.Process.Kill()
		}
		<-done
		for i := range j.out {
			t.Logf("process %d: %s", i, j.out[i].String())
		}
		t.Fatal("the job hangs")
		return nil
	}
}

// says checks that all processes but one end with an error, and that it matches.
func (j *job) says(t *testing.T, codes []int, but int, want string) {
	t.Helper()
	for i, code := range codes {
		if i == but {
			continue
		}
		if text := j.out[i].String(); code <= 0 || !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("process %d ended with %d and not %s: %s", i, code, want, text)
		}
	}
}

// Limits of when processes report one that is dead, and one that is silent or cannot be reached, where it may be silent
// as briefly says.
const (
	deadLimit   = 2 * time.Second
	silentLimit = 5 * time.Second
	briefly     = "MSCCLC_SILENCE=4"
)

// report waits until all processes but one have said something that matches, and checks that all do within a limit.
func (j *job) report(t *testing.T, but int, want string, limit time.Duration) {
	t.Helper()
	begin, match := time.Now(), regexp.MustCompile(want)
	for i := range j.out {
		for i != but && !match.MatchString(j.out[i].String()) {
			if time.Since(begin) > time.Minute {
				t.Fatalf("process %d does not say %s: %s", i, want, j.out[i].String())
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	took := time.Since(begin)
	t.Logf("all processes report %s after %v", want, took)
	if took > covering.Patience(limit) {
		t.Errorf("it took %v; the limit is %v", took, limit)
	}
}

// A process that is killed is an error of all others, which name it.
func TestKilled(t *testing.T) {
	hasUCX(t)
	j := under(t, hosts.New(t, 2), nil, long...)
	j.processes[3].Process.Kill()
	j.report(t, 3, `process 3`, deadLimit)
	j.says(t, j.within(t, time.Minute), 3, `process 3`)
}

// A process that is stopped for good is an error, and one that is stopped for a moment is none.
func TestStopped(t *testing.T) {
	hasUCX(t)
	n := hosts.New(t, 2)
	args := append([]string(nil), long...)
	args[len(args)-5] = "100" // replays
	j := under(t, n, nil, args...)
	j.processes[2].Process.Signal(syscall.SIGSTOP)
	time.Sleep(2 * time.Second)
	j.processes[2].Process.Signal(syscall.SIGCONT)
	for i, code := range j.within(t, 2*time.Minute) {
		if code != 0 {
			t.Errorf("process %d ended with %d: %s", i, code, j.out[i].String())
		}
	}
	if text := j.out[0].String(); !strings.Contains(text, "Out of bounds values : 0 OK") {
		t.Errorf("not checked: %s", text)
	}

	j = under(t, n, []string{briefly}, long...)
	j.processes[2].Process.Signal(syscall.SIGSTOP)
	stopped := time.AfterFunc(40*time.Second, func() { j.processes[2].Process.Kill() })
	defer stopped.Stop()
	j.report(t, 2, `process 2`, silentLimit)
	others := &job{processes: []*exec.Cmd{j.processes[0], j.processes[1], j.processes[3]}, out: j.out}
	others.within(t, 35*time.Second)
	j.processes[2].Process.Kill()
	j.says(t, j.within(t, time.Minute), 2, `process 2`)
}

// A link that is cut for good is an error, on both sides.
func TestCut(t *testing.T) {
	hasUCX(t)
	n := hosts.New(t, 2)
	j := under(t, n, []string{briefly}, long...)
	n.Hosts[1].Cut(t)
	j.report(t, -1, `process [0-3]`, silentLimit)
	j.says(t, j.within(t, time.Minute), -1, `process [0-3]`)
}

// TestOutage: a link that comes back after 10 s is no error. TCP sends again within the 15 s that a process may be
// silent.
func TestOutage(t *testing.T) {
	hasUCX(t)
	n := hosts.New(t, 2)
	args := append([]string(nil), long...)
	args[len(args)-5] = "60" // replays
	args[len(args)-1] = "1m" // a call may wait longer than the outage
	j := under(t, n, nil, args...)
	n.Hosts[1].Cut(t)
	time.Sleep(10 * time.Second)
	n.Hosts[1].Mend(t)
	for i, code := range j.within(t, 2*time.Minute) {
		if code != 0 {
			t.Errorf("process %d ended with %d: %s", i, code, j.out[i].String())
		}
	}
	if text := j.out[0].String(); !strings.Contains(text, "Out of bounds values : 0 OK") {
		t.Errorf("not checked: %s", text)
	}
}

// TestSilence: a silence that is no number of seconds is an error that says what it must be.
func TestSilence(t *testing.T) {
	hasUCX(t)
	n := hosts.New(t, 2)
	for _, wrong := range []string{"0", "3601", "15s", "-1"} {
		j := start(t, n, 1, []string{"MSCCLC_SILENCE=" + wrong}, ring...)
		j.says(t, j.within(t, time.Minute), -1, `MSCCLC_SILENCE is "`+wrong+`", and must be a number from 1 to 3600`)
	}
}

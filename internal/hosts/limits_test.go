//go:build linux

package hosts_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"mscclc/internal/covering"
	"mscclc/internal/hosts"
)

// An accident is what happens to a job of two hosts with two processes each.
type accident struct {
	name  string
	do    func(t *testing.T, n *hosts.Network, j *job)
	gone  int           // the process that says nothing any more, or -1
	limit time.Duration // until all others have said what is wrong
}

// names returns what all others are to say of the process that is gone; where there are several, of one.
func (a *accident) names() string {
	if a.gone < 0 {
		return `process [0-3] \(rank [0-3], node host[01]\)`
	}
	return fmt.Sprintf(`process %d \(rank %d, node host%d\)`, a.gone, a.gone, a.gone/2)
}

func signalled(process int, s syscall.Signal) func(*testing.T, *hosts.Network, *job) {
	return func(_ *testing.T, _ *hosts.Network, j *job) { j.processes[process].Process.Signal(s) }
}

func cut(host int) func(*testing.T, *hosts.Network, *job) {
	return func(t *testing.T, n *hosts.Network, _ *job) { n.Hosts[host].Cut(t) }
}

var accidents = []accident{
	{"process 3 is killed", signalled(3, syscall.SIGKILL), 3, deadLimit},
	{"process 0, the hub, is killed", signalled(0, syscall.SIGKILL), 0, deadLimit},
	{"process 3 is stopped", signalled(3, syscall.SIGSTOP), 3, silentLimit},
	{"process 0, the hub, is stopped", signalled(0, syscall.SIGSTOP), 0, silentLimit},
	{"the link of host 1 is down", cut(1), -1, silentLimit},
	{"the link of host 0 is down", cut(0), -1, silentLimit},
}

// TestLimits holds the limits of reports as they are, for jobs that replay graphs and jobs that launch. Each process
// that lives says which one is lost, and which step waited, or between two calls which was the last. It needs a machine
// without other work, so it runs where limits are exact only.
func TestLimits(t *testing.T) {
	if !covering.Exact() {
		t.Skipf("set %s=1 on a machine without other work", covering.LimitsVariable)
	}
	hasUCX(t)
	launches := []string{"run", "allreduce/ring", "--ranks", "4", "--sided", "lowered", "--bytes", "1M", "--iters",
		"100000", "--timeout", "10s"}
	const says = `.*( rank \d block \d+ step \d+ .* waited|; the last call was allreduce of \d+ bytes of \w+ by ring)`
	for _, c := range []struct {
		name, meet string
		args       []string
	}{{"replays", "(elements)", long}, {"launches", "runs on 2 nodes", launches}} {
		for _, a := range accidents {
			t.Run(c.name+"/"+a.name, func(t *testing.T) {
				n := hosts.New(t, 2)
				j := underWay(t, n, []string{briefly}, c.meet, c.args...)
				a.do(t, n, j)
				begin := time.Now()
				j.report(t, a.gone, a.names()+says, a.limit)
				others := &job{out: j.out}
				for i, p := range j.processes {
					if i != a.gone {
						others.processes = append(others.processes, p)
					}
				}
				codes := others.within(t, time.Minute)
				t.Logf("all have ended after %v, with %v", time.Since(begin).Round(time.Millisecond), codes)
				if slices.Min(codes) <= 0 {
					t.Errorf("codes %v", codes)
				}
				for i := range j.out {
					t.Logf("process %d: %s", i, j.out[i].String())
				}
			})
		}
	}
}

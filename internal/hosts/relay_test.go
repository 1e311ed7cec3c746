//go:build linux

package hosts_test

import (
	"strings"
	"testing"
	"time"

	"mscclc/internal/hosts"
)

// In these tests a relay is between the two hosts. So messages are late, stall or are lost, as on a poor network.

// engines calls a test with the environment of each engine that goes through a relay.
func engines(t *testing.T, test func(t *testing.T, n *hosts.Network, env []string)) {
	t.Run("ucx", func(t *testing.T) {
		hasUCX(t)
		test(t, hosts.New(t, 2), nil)
	})
	t.Run("plugin", func(t *testing.T) { test(t, hosts.New(t, 2), []string{"MSCCLC_NET=ncclnet:" + plugin(t)}) })
}

// Results are right over a line with a delay, a rate, losses and stalls. The calls take longer than a period of the
// line at its rate, so a stall comes while they run.
func TestRelay(t *testing.T) {
	engines(t, func(t *testing.T, n *hosts.Network, env []string) {
		line := hosts.Line{Delay: 3 * time.Millisecond, Rate: 6 << 20, Loss: 0.01, Every: 2 * time.Second, Stall: time.Second}
		relay := n.Hosts[1].Relay(t, line)
		args := []string{"run", "allreduce/hierarchical", "-p", "nodes=2", "-p", "gpus=2", "--sided", "one", "--nodes", "2",
			"--bytes", "1000004", "--iters", "16", "--timeout", "60s"}
		start(t, n, 2, env, args...).must(t, args)
		crossed, lost, stalled := relay.Bytes.Load(), relay.Lost.Load(), relay.Stalled.Load()
		t.Logf("%d bytes crossed, %d frames were lost, and %d stalled", crossed, lost, stalled)
		if crossed < 2*int64(line.Rate)*int64(line.Every/time.Second) || lost == 0 || stalled == 0 {
			t.Error("the calls did not meet the faults of the line")
		}
	})
}

// A relay that is killed is an error of all processes. It names a process, and says that nothing has come from it.
func TestRelayKilled(t *testing.T) {
	engines(t, func(t *testing.T, n *hosts.Network, env []string) {
		relay := n.Hosts[1].Relay(t, hosts.Line{Delay: time.Millisecond})
		j := under(t, n, append(env, briefly), "bench", "allreduce/hierarchical", "-p", "nodes=2", "-p", "gpus=2", "--sided", "one",
			"--nodes", "2", "-b", "64K", "-e", "64K", "--replays", "100000", "--timeout", "10s")
		relay.Kill()
		j.says(t, j.within(t, time.Minute), -1, `process [0-3]`)
		var all strings.Builder
		for i := range j.out {
			all.WriteString(j.out[i].String())
		}
		if !strings.Contains(all.String(), "nothing has come") {
			t.Errorf("no process says why it failed: %s", all.String())
		}
	})
}

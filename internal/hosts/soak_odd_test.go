//go:build linux

package hosts_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mscclc/internal/hosts"
)

// This file is what makes the hosts of a long soak odd: more cards, names that mean something else, strangers at the
// port, and processes with few descriptors.

// makeOdd gives the hosts cards that lead nowhere, and names as Debian has them: that of the first host is its own
// loopback there.
func makeOdd(t *testing.T, n *hosts.Network) {
	t.Helper()
	n.Hosts[0].Names(t, "127.0.0.1 localhost", "127.0.1.1 debian")
	n.Hosts[1].Names(t, "127.0.0.1 localhost", "127.0.1.1 other", n.Hosts[0].Address+" debian")
	for _, h := range n.Hosts {
		h.Card(t, "aaa0", "172.17.0.1/16")
		h.Card(t, "zzz0", "172.18.0.1/16")
	}
}

// oddPlace says where the next job meets: at the address, or at the name, perhaps with a secret.
func (s *soak) oddPlace() (env []string) {
	if s.random.IntN(2) == 0 {
		env = append(env, fmt.Sprintf("MSCCLC_HUB=debian:%d", ports+1))
	}
	if s.random.IntN(2) == 0 {
		env = append(env, fmt.Sprint("MSCCLC_SECRET=", s.random.Uint64()))
	}
	return env
}

// strangers are what may come to a port: a browser, a frame that is too long, and one of an older mscclc.
var strangers = []string{`GET / HTTP/1.0\r\n\r\n`, `\xff\xff\xff\xff\x00`,
	`\x1a\x00\x00\x00\x00mscclc exchange 2\n\x01\x00\x00\x00\x0f\x27\x00\x00`, ``}

// strange has strangers connect to the port at which a job meets, and say something.
func (s *soak) strange(t *testing.T, r *trial) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for _, says := range strangers {
		s.n.Hosts[1].Command(ctx, "bash", "-c", fmt.Sprintf(
			`exec 3<>/dev/tcp/%s/%d && printf '%s' >&3 && timeout 0.2 cat <&3`, s.n.Hosts[0].Address, r.port, says)).Run()
	}
	s.suffers(r, true, "strangers", "")
}

// starve leaves a process no more descriptors than it has, or a few.
func (s *soak) starve(t *testing.T, r *trial, who int) {
	t.Helper()
	pid := r.processes[who].Process.Pid
	out, _ := exec.Command("ls", fmt.Sprintf("/proc/%d/fd", pid)).Output()
	most := uint64(len(strings.Fields(string(out))) + s.random.IntN(8))
	unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: most}, nil)
	s.suffers(r, false, "few descriptors", fmt.Sprintf(" of %d: %d", who, most))
}

//go:build linux

package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"mscclc/internal/hosts"
)

var ring = []string{"run", "allreduce/ring", "--ranks", "2", "--sided", "lowered", "--timeout", "20s"}

// TestHubAddresses has names and addresses that mean something else on the host of process 0 than on the others: its
// loopback, as Debian's file of names has it, and an address that is none of its own, as behind NAT or a service. The
// hub listens at all addresses, of IPv6 too.
func TestHubAddresses(t *testing.T) {
	hasUCX(t)
	n := hosts.New(t, 2)
	for i, h := range n.Hosts {
		h.Also(t, fmt.Sprintf("fd77::%d/64", i+1))
	}
	other := n.Hosts[0].Address + " debian service"
	n.Hosts[0].Names(t, "127.0.0.1 localhost", "127.0.1.1 debian", "203.0.113.9 service")
	n.Hosts[1].Names(t, "127.0.0.1 localhost", other)
	for k, host := range []string{"debian", "service", "[fd77::1]"} {
		start(t, n, 1, []string{fmt.Sprintf("MSCCLC_HUB=%s:%d", host, 29700+k)}, ring...).must(t, ring)
	}
}

// TestTwoJobs starts two jobs of unlike programs at once, with the same MASTER_ADDR and no port, as two commands of
// mpirun have it: each process joins its own job, although the first port of one is taken.
func TestTwoJobs(t *testing.T) {
	hasUCX(t)
	n := hosts.New(t, 2)
	jobs := [2]*job{}
	for k, args := range [][]string{ring, {"run", "allgather/ring", "--ranks", "2", "--sided", "lowered", "--timeout", "20s"}} {
		env := []string{"MSCCLC_HUB=", "MASTER_ADDR=" + n.Hosts[0].Address, fmt.Sprintf("MSCCLC_JOB=job %d", k)}
		if k == 1 {
			env = append(env, "MASTER_PORT=29799")
		}
		if k == 0 { // who has the port that the other asks for
			taker := n.Hosts[0].Command(t.Context(), os.Args[0])
			taker.Env = append(os.Environ(), "HOSTS_LISTEN=:29800")
			out, err := taker.StdoutPipe()
			if err := errors.Join(err, taker.Start()); err != nil {
				t.Fatal(err)
			}
			defer taker.Process.Kill()
			out.Read(make([]byte, 8))
		}
		jobs[k] = start(t, n, 1, env, args...)
	}
	for _, j := range jobs {
		j.must(t, nil)
	}
}

// TestHubSecret has a process with another secret come to a job: it is turned away and says why, and the job goes on.
func TestHubSecret(t *testing.T) {
	hasUCX(t)
	n := hosts.New(t, 2)
	file, err := program()
	if err != nil {
		t.Fatal(err)
	}
	hub := fmt.Sprintf("MSCCLC_HUB=%s:29720", n.Hosts[0].Address)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	wrong := n.Hosts[1].Command(ctx, file, ring...)
	wrong.Env = append(os.Environ(), hub, "MSCCLC_INDEX=1", "MSCCLC_SIZE=2", "MSCCLC_SECRET=wrong")
	said := make(chan string, 1)
	go func() {
		out, _ := wrong.CombinedOutput()
		said <- string(out)
	}()
	first := n.Hosts[0].Command(ctx, file, ring...)
	env := append(os.Environ(), hub, "MSCCLC_SIZE=2", "MSCCLC_SECRET=right", "UCX_TLS=tcp,self")
	first.Env = append(env, "MSCCLC_INDEX=0", "MSCCLC_NODE=0")
	var out output
	first.Stdout, first.Stderr = &out, &out
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	if text := <-said; !strings.Contains(text, "another secret") {
		t.Errorf("who has another secret says %s", text)
	}
	second := n.Hosts[1].Command(ctx, file, ring...)
	second.Env = append(env, "MSCCLC_INDEX=1", "MSCCLC_NODE=1")
	if text, err := second.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	if err := first.Wait(); err != nil || !strings.Contains(out.String(), " 0 wrong") {
		t.Errorf("process 0: %v: %s", err, out.String())
	}
}

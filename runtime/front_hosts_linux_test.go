package runtime_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"mscclc/executor/data"
	"mscclc/internal/hosts"
)

// onHosts has two ranks be on two hosts that have another card each, with the same address, which leads nowhere. Ranks
// meet at the first host's eth0.
func onHosts(t *testing.T, card string, first bool, env ...string) (*hosts.Network, site) {
	t.Helper()
	n := hosts.New(t, 2)
	for _, h := range n.Hosts {
		h.Card(t, card, "172.17.0.1/16")
		if first {
			h.Replug(t)
		}
	}
	s := site{how: "alone", ranks: 2, bundle: nodesFile(t, []data.DType{data.F32}, 2, "2")}
	s.env = append([]string{"UCX_TLS=tcp,self", "MSCCLC_ADDRESS=" + n.Hosts[0].Address}, env...)
	s.of = func(rank int) []string { return []string{fmt.Sprint("MSCCLC_NODE=host", rank)} }
	s.on = func(ctx context.Context, rank int, program string, args ...string) *exec.Cmd {
		return n.Hosts[rank].Command(ctx, program, args...)
	}
	return n, s
}

// TestFrontCards: UCX takes the card by which the ranks met, whatever other cards there are, before it or after it by
// name and by index.
func TestFrontCards(t *testing.T) {
	needUCX(t)
	for _, card := range []string{"aaa0", "docker0", "zzz0"} {
		for _, first := range []bool{false, true} {
			t.Run(fmt.Sprint(card, ", with the first index: ", first), func(t *testing.T) {
				_, s := onHosts(t, card, first, "MSCCLC_MEET=20")
				r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "allgather 0 30000 7 0 0 0 v", "sync", "destroy 0").well(t)
				if strings.Contains(r.stats, `"native":false`) || !strings.Contains(r.stats, `"native":true`) {
					t.Errorf("calls were: %s", r.stats)
				}
			})
		}
	}
}

// cutOff is onHosts where a variable names a card from which the other rank is not reached: no answer comes.
func cutOff(t *testing.T, meet, variable string) site {
	t.Helper()
	n, s := onHosts(t, "other0", false, meet, variable+"=other1")
	for i, h := range n.Hosts {
		h.Card(t, "other1", fmt.Sprintf("10.99.0.%d/24", i+1))
		h.Void(t, "other1", fmt.Sprintf("10.99.0.%d", 2-i))
	}
	return s
}

// TestFrontOwnCard: MSCCLC_NET_DEVICE and UCX_NET_DEVICES name a card from which the other rank is not reached. Both
// ranks fail within MSCCLC_MEET, and the message names the cards, the addresses and the variable.
func TestFrontOwnCard(t *testing.T) {
	needUCX(t)
	for _, variable := range []string{"MSCCLC_NET_DEVICE", "UCX_NET_DEVICES"} {
		s := cutOff(t, "MSCCLC_MEET=3", variable)
		begin := time.Now()
		r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "sync")
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		for rank, err := range r.failed {
			if err == nil {
				t.Errorf("rank %d has not failed", rank)
			}
		}
		for _, want := range []string{"no connection came about within 3 s", "other1, 10.99.0.1 (" + variable + " names it)",
			"other1, 10.99.0.2 (" + variable + " names it)"} {
			if !strings.Contains(r.output, want) {
				t.Errorf("%q is not in the output:\n%s", want, r.output)
			}
		}
	}
}

// TestFrontGone: a rank is killed while all connect, which the card prevents. The other knows within 2 s, long before
// MSCCLC_MEET has passed.
func TestFrontGone(t *testing.T) {
	needUCX(t)
	s := cutOff(t, "MSCCLC_MEET=30", "MSCCLC_NET_DEVICE")
	for _, victim := range []int{0, 1} { // the hub is rank 0's process
		begin := time.Now()
		r := s.do(t, fmt.Sprint("@", victim, " killafter 3000"), "init 0", "allreduce 0 1000 7 0 0 0 v", "sync")
		if took := time.Since(begin); took > 15*time.Second {
			t.Errorf("rank %d is killed: it took %v", victim, took)
		}
		if r.failed[1-victim] == nil || !strings.Contains(r.output, fmt.Sprintf("rank %d of 2: ", 1-victim)) {
			t.Errorf("rank %d is killed: %v\n%s", victim, r.failed, r.output)
		}
	}
}

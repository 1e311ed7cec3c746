//go:build linux

package hosts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mscclc/internal/hosts"
)

// TestOtherCards gives hosts a second card with an address in one network on both, which joins them to nothing. It is a
// card of its own, or a bridge with a veth in it, as docker0 is with a container. Its name comes before and after eth0,
// and so does its index. The job takes the card by which the processes have reached process 0.
func TestOtherCards(t *testing.T) {
	hasUCX(t)
	for _, card := range []string{"aaa0", "docker0", "eth00", "zzz0"} {
		for _, both := range []bool{false, true} {
			for _, first := range []bool{false, true} {
				t.Run(fmt.Sprint(card, " on both: ", both, ", with the first index: ", first), func(t *testing.T) {
					otherCard(t, card, both, first)
				})
			}
		}
	}
}

func otherCard(t *testing.T, card string, both, first bool) {
	n := hosts.New(t, 2)
	for _, h := range n.Hosts {
		if h == n.Hosts[0] || both {
			makes := h.Card
			if card == "docker0" {
				makes = h.Bridge
			}
			makes(t, card, "172.17.0.1/16")
		}
		if first {
			h.Replug(t)
		}
	}
	indexed(t, n.Hosts[0], card, first)
	j := start(t, n, 1, nil, ring...)
	j.must(t, ring)
	if !strings.Contains(j.out[0].String(), ": tcp/eth0") {
		t.Errorf("UCX did not take TCP over eth0: %s", j.out[0].String())
	}
}

// indexed checks that the index of a card is below eth0's, or above it.
func indexed(t *testing.T, h *hosts.Host, card string, first bool) {
	t.Helper()
	var index [2]int
	for i, name := range []string{card, "eth0"} {
		out, err := h.Command(t.Context(), "cat", "/sys/class/net/"+name+"/ifindex").Output()
		if _, bad := fmt.Sscan(string(out), &index[i]); err != nil || bad != nil {
			t.Fatalf("the index of %s: %v, %v", name, err, bad)
		}
	}
	if (index[0] < index[1]) != first {
		t.Fatalf("%s has index %d, and eth0 %d", card, index[0], index[1])
	}
}

// TestOwnCard: MSCCLC_NET_DEVICE and UCX_NET_DEVICES name another card. One that is not there is an error of that
// process, which names it. One that leads nowhere ends the job within --timeout, and the message names card and
// variable.
func TestOwnCard(t *testing.T) {
	hasUCX(t)
	n := hosts.New(t, 2)
	for i, h := range n.Hosts {
		h.Card(t, "other0", fmt.Sprintf("10.99.%d.1/24", i))
	}
	start(t, n, 1, []string{"MSCCLC_NET_DEVICE=eth0"}, ring...).must(t, ring)
	j := start(t, n, 1, []string{"MSCCLC_NET_DEVICE=eth7"}, ring...)
	j.says(t, j.within(t, time.Minute), -1, `MSCCLC_NET_DEVICE=eth7: this host has no network card eth7`)
	short := append(slices.Clone(ring[:len(ring)-1]), "4s")
	for _, variable := range []string{"MSCCLC_NET_DEVICE", "UCX_NET_DEVICES"} {
		begin := time.Now()
		j := start(t, n, 1, []string{variable + "=other0"}, short...)
		codes := j.within(t, time.Minute)
		took := time.Since(begin)
		for i, code := range codes {
			if said := j.out[i].String(); code <= 0 || !strings.Contains(said, "other0") || !strings.Contains(said, variable) {
				t.Errorf("%s: process %d ended with %d: %s", variable, i, code, said)
			}
		}
		t.Logf("%s: it took %v: %s", variable, took, j.out[0].String())
	}
}

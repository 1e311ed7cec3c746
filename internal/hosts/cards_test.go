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

// TestOtherCards gives hosts a second card with an address in one network on both, which joins them to nothing, as
// docker0 with a container does. Its name comes before and behind eth0's in lists. The job takes the card by which the
// processes have reached process 0, whatever the name of the other is.
func TestOtherCards(t *testing.T) {
	hasUCX(t)
	for _, card := range []string{"aaa0", "docker0", "zzz0"} {
		for _, both := range []bool{false, true} {
			t.Run(fmt.Sprint(card, " on both: ", both), func(t *testing.T) {
				n := hosts.New(t, 2)
				n.Hosts[0].Card(t, card, "172.17.0.1/16")
				if both {
					n.Hosts[1].Card(t, card, "172.17.0.1/16")
				}
				start(t, n, 1, nil, ring...).must(t, ring)
			})
		}
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

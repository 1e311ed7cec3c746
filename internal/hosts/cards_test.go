//go:build linux

package hosts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mscclc/internal/covering"
	"mscclc/internal/hosts"
)

// TestOtherCards gives hosts a second card with an address in one network on both, which joins them to nothing. It is a
// card of its own, or a bridge with a veth in it, as docker0 is with a container. Its name comes before and after eth0,
// and so does its index. The job takes the card by which the processes have reached process 0.
func TestOtherCards(t *testing.T) {
	hasUCX(t)
	cards := []string{"aaa0", "docker0", "eth00", "zzz0"}
	rows := covering.Each([]int{len(cards), 2, 2}, 0)
	if covering.CI() {
		rows = covering.Product([]int{len(cards), 2, 2})
	}
	for _, row := range rows {
		card, both, first := cards[row[0]], row[1] > 0, row[2] > 0
		t.Run(fmt.Sprint(card, " on both: ", both, ", with the first index: ", first), func(t *testing.T) {
			otherCard(t, card, both, first)
		})
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

// others gives each of two hosts a card that leads nowhere, with an address of its own in one network. What is sent to
// the other host's gets lost.
func others(t *testing.T, card string) *hosts.Network {
	n := hosts.New(t, 2)
	for i, h := range n.Hosts {
		h.Card(t, card, fmt.Sprintf("10.99.0.%d/24", i+1))
		h.Void(t, card, fmt.Sprintf("10.99.0.%d", 2-i))
	}
	return n
}

// within has the ring give up after a time.
func within(limit string) []string { return append(slices.Clone(ring[:len(ring)-1]), limit) }

// fails checks that all processes of a job fail within a time, and that each names all the words.
func (j *job) fails(t *testing.T, begin time.Time, limit time.Duration, words ...string) {
	t.Helper()
	codes := j.within(t, time.Minute)
	if took := time.Since(begin); took > limit {
		t.Errorf("the job has ended after %v", took)
	}
	for i, code := range codes {
		said := j.out[i].String()
		if code <= 0 {
			t.Errorf("process %d ended with %d: %s", i, code, said)
		}
		for _, word := range words {
			if !strings.Contains(said, word) {
				t.Errorf("process %d does not name %q: %s", i, word, said)
			}
		}
	}
}

// TestOwnCard: MSCCLC_NET_DEVICE and UCX_NET_DEVICES name the card. One that is not there is an error of that process,
// which names it. One that leads nowhere ends the job with --timeout, and the message names both cards and addresses,
// and the variable.
func TestOwnCard(t *testing.T) {
	hasUCX(t)
	n := others(t, "other0")
	start(t, n, 1, []string{"MSCCLC_NET_DEVICE=eth0"}, ring...).must(t, ring)
	j := start(t, n, 1, []string{"MSCCLC_NET_DEVICE=eth7"}, ring...)
	j.says(t, j.within(t, time.Minute), -1, `MSCCLC_NET_DEVICE=eth7: this host has no network card eth7`)
	for v, variable := range []string{"MSCCLC_NET_DEVICE", "UCX_NET_DEVICES"} {
		for l, limit := range []int{2, 5} {
			if v != l && !covering.CI() {
				continue
			}
			j := start(t, n, 1, []string{variable + "=other0"}, within(fmt.Sprint(limit, "s"))...)
			begin := time.Now()
			j.fails(t, begin, time.Duration(limit+3)*time.Second, fmt.Sprintf("within %d s", limit),
				"other0, 10.99.0.1 ("+variable+" names it)", "other0, 10.99.0.2 ("+variable+" names it)")
			if took := time.Since(begin); took < time.Duration(limit)*time.Second {
				t.Errorf("the job has ended after %v, before its limit", took)
			}
		}
	}
}

// TestMeasureCard: topo --measure gives up with --timeout, too, and names the same.
func TestMeasureCard(t *testing.T) {
	hasUCX(t)
	n := others(t, "other0")
	j := start(t, n, 1, []string{"MSCCLC_NET_DEVICE=other0"}, "topo", "--measure", "--timeout", "2s")
	j.fails(t, time.Now(), 5*time.Second, "within 2 s", "other0, 10.99.0.1 (MSCCLC_NET_DEVICE names it)",
		"other0, 10.99.0.2 (MSCCLC_NET_DEVICE names it)")
}

// TestOneCard: one process takes a card from which the other cannot be reached, and fails at once. The other learns of
// that within 2 s, long before its own limit, and names the first. Where the other one's connection comes first, UCX
// takes it for both ways, and the job is right. So a job that is right is tried again.
func TestOneCard(t *testing.T) {
	hasUCX(t)
	n := hosts.New(t, 2)
	for i, h := range n.Hosts {
		h.Card(t, "other0", fmt.Sprintf("10.99.%d.1/24", i))
	}
	for wrong := range 2 {
		var j *job
		var begin time.Time
		for range 5 {
			begin = time.Now()
			j = startEach(t, n, 1, func(process int) []string {
				if process == wrong {
					return []string{"MSCCLC_NET_DEVICE=other0"}
				}
				return nil
			}, within("40s")...)
			if slices.Max(j.within(t, time.Minute)) != 0 || !strings.Contains(j.out[0].String(), " 0 wrong") {
				break
			}
		}
		j.fails(t, begin, 20*time.Second, fmt.Sprintf("other0, 10.99.%d.1 (MSCCLC_NET_DEVICE names it)", wrong),
			fmt.Sprintf("eth0, %s (by which the processes met", n.Hosts[1-wrong].Address))
	}
}

// TestOneFails: one process fails at once, and what the other one sends gets lost. It learns of the failure within 2 s,
// long before its own limit, and names the process that has failed.
func TestOneFails(t *testing.T) {
	hasUCX(t)
	for fails := range 2 {
		n := others(t, "other0")
		n.Hosts[fails].Refuse(t, fmt.Sprintf("10.99.0.%d", 2-fails))
		j := start(t, n, 1, []string{"MSCCLC_NET_DEVICE=other0"}, within("40s")...)
		begin := time.Now()
		j.fails(t, begin, 5*time.Second, fmt.Sprintf("other0, 10.99.0.%d (MSCCLC_NET_DEVICE names it)", fails+1))
		if said := j.out[1-fails].String(); !strings.Contains(said, fmt.Sprintf("process %d: the network", fails)) {
			t.Errorf("process %d does not say that process %d has failed: %s", 1-fails, fails, said)
		}
	}
}

package hostcache

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"

	"mscclc/executor/exchange"
)

// This file says which jobs are on the same hosts.

// variables are those that say what messages go by.
var variables = []string{"MSCCLC_NET", "MSCCLC_NET_DEVICE", "MSCCLC_NET_THREADS", "UCX_TLS", "UCX_NET_DEVICES"}

// host describes the host of this process: its name and machine, the cards that it reaches the others by, and what
// messages go by.
func host(x *exchange.Member) string {
	name, _ := os.Hostname()
	words := []string{name, machine()}
	if x != nil {
		for _, card := range x.Cards() {
			words = append(words, card+speed(card))
		}
		for _, v := range variables {
			if is := os.Getenv(v); is != "" {
				words = append(words, v+"="+is)
			}
		}
	}
	return strings.Join(words, " ")
}

// machine returns a hash of the machine's ID, which is not to be shown.
func machine() string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		return "-"
	}
	return fmt.Sprintf("%.4x", sha256.Sum256(append([]byte("mscclc hosts "), id...)))
}

// speed returns the speed of a card, where the system says one.
func speed(card string) string {
	text, err := os.ReadFile("/sys/class/net/" + card + "/speed")
	if err != nil {
		return ""
	}
	return ":" + strings.TrimSpace(string(text)) + "Mb/s"
}

// nodes returns a line for each node of a job, in an order that does not depend on that of the processes: how many
// processes it has, on which hosts and devices. node is the node of each process.
func nodes(hosts []string, node []int, device string) []string {
	on := map[int]map[string]int{}
	for i, h := range hosts {
		n := 0
		if i < len(node) {
			n = node[i]
		}
		if on[n] == nil {
			on[n] = map[string]int{}
		}
		on[n][h]++
	}
	var lines []string
	for _, count := range on {
		var words []string
		for h, k := range count {
			words = append(words, fmt.Sprintf("%d x %s on %s", k, device, h))
		}
		slices.Sort(words)
		lines = append(lines, strings.Join(words, ", "))
	}
	slices.SortFunc(lines, cmp.Compare)
	return lines
}

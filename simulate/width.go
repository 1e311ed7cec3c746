package simulate

import (
	"math"

	"mscclc/executor/launch"
)

// This file finds how many replicas of a one-sided program a call is the fastest in.

// triedReplicas are the replicas of one-sided programs that are tried: any GPU that is known has room for as many at
// once.
var triedReplicas = []int{1, 2, 4, 8, 16, 32, 64, 128}

// Replicas returns the numbers of replicas that are tried on a device: the CPU makes memory for few.
func Replicas(device string) []int {
	if device != "cpu" {
		return triedReplicas
	}
	n := 0
	for n < len(triedReplicas) && triedReplicas[n] <= launch.MostHostReplicas {
		n++
	}
	return triedReplicas[:n]
}

// Gain is how much faster replicas must be to be worth having twice as many.
const Gain = 1.01

// worse is how many times as long as the best a width takes beyond which none is better.
const worse = 1.1

// Widest returns how many replicas of a device a call of a given number of bytes among ranks is the fastest in, by the
// micros that each takes; of as fast ones the fewest. It is 0 where none can be had. It looks from likely ones on up
// and down, as far as that gets not much worse.
func Widest(device string, bytes int64, ranks int, micros func(replicas int) (float64, error)) (replicas int) {
	tried := Replicas(device)
	took := make([]float64, len(tried))
	least := math.Inf(1)
	look := func(i int) bool {
		t, err := micros(tried[i])
		if err != nil {
			t = math.Inf(1)
		}
		took[i], least = t, min(least, t)
		return t <= worse*least
	}
	first := Likely(tried, bytes, ranks)
	from, to := first, first+1
	look(first)
	for to < len(tried) && Worth(tried[to], bytes) && look(to) {
		to++
	}
	for from > 0 && look(from-1) {
		from--
	}
	for i, t := range took[from:to] {
		if !math.IsInf(t, 1) && t <= Gain*least {
			return tried[from+i]
		}
	}
	return 0
}

// Worth reports whether calls of a given number of bytes are worth a given number of replicas: each has some work for
// its threads, which is what the simulation does not count.
func Worth(replicas int, bytes int64) bool { return replicas <= 4 || int64(replicas)*512 <= bytes }

// Likely returns which of some replicas the executor would take.
func Likely(tried []int, bytes int64, ranks int) int {
	chunk := bytes / int64(max(ranks, 1))
	i := 0
	for i+1 < len(tried) && chunk >= int64(tried[i+1])*launch.ReplicaBytes {
		i++
	}
	return i
}

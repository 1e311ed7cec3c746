package bench

import (
	"math"
	"slices"
	"time"
)

// median returns the middle of times, of an even number the mean of the middle two.
func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(times))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// geoMean returns the geometric mean of positive numbers, or 0 of none.
func geoMean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(x)))
}

// launches returns how often an operation of such a time runs in a replay.
func (m *Measuring) launches(once time.Duration) int {
	const most = 400 // of a graph's nodes
	if m.Launches > 0 {
		return m.Launches
	}
	return int(min(max(m.Target/max(once, time.Nanosecond), 1), most))
}

// slowest takes, of each replay, the slowest of several ranks' times.
func slowest(ranks [][]time.Duration) []time.Duration {
	all := slices.Clone(ranks[0])
	for _, times := range ranks[1:] {
		for i := range all {
			all[i] = max(all[i], times[i])
		}
	}
	return all
}

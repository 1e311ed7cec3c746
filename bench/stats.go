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
		return m.Launches * max(m.Group, 1)
	}
	return m.grouped(int(min(max(m.Target/max(once, time.Nanosecond), 1), most)))
}

// grouped returns n, as far as it is of whole groups, or one group.
func (m *Measuring) grouped(n int) int {
	group := max(m.Group, 1)
	return max(n/group, 1) * group
}

// combined takes, of each replay, the time that counts of several ranks' times.
func combined(ranks [][]time.Duration, of Of) []time.Duration {
	all := slices.Clone(ranks[0])
	for _, times := range ranks[1:] {
		for i := range all {
			switch of {
			case SlowestRank:
				all[i] = max(all[i], times[i])
			case FastestRank:
				all[i] = min(all[i], times[i])
			case MeanOfRanks:
				all[i] += times[i]
			}
		}
	}
	if of == MeanOfRanks {
		for i := range all {
			all[i] /= time.Duration(len(ranks))
		}
	}
	return all
}

// A Spread is how times of iterations differ, in microseconds. P99 is the nearest rank, and CV the standard deviation
// in percent of the mean.
type Spread struct {
	Skipped int       `json:"skipped_iterations"`
	Min     float64   `json:"min_us"`
	Max     float64   `json:"max_us"`
	Mean    float64   `json:"avg_us"`
	P50     float64   `json:"p50_us"`
	P95     float64   `json:"p95_us"`
	P99     float64   `json:"p99_us"`
	StdDev  float64   `json:"stdev_us"`
	CV      float64   `json:"cv_pct"`
	Times   []float64 `json:"times_us" doc:"of all iterations, in their order"`
}

// spreadOf returns the spread of times without the first skip of them.
func spreadOf(each []time.Duration, skip int) *Spread {
	s := &Spread{Skipped: skip}
	for _, t := range each {
		s.Times = append(s.Times, us(t))
	}
	sorted := slices.Sorted(slices.Values(s.Times[min(skip, len(s.Times)):]))
	n := len(sorted)
	if n == 0 {
		return s
	}
	percentile := func(p int) float64 { return sorted[min(n-1, (n*p+99)/100-1)] }
	s.Min, s.Max, s.P50, s.P95, s.P99 = sorted[0], sorted[n-1], sorted[n/2], percentile(95), percentile(99)
	squares := 0.0
	for _, t := range sorted {
		s.Mean += t / float64(n)
	}
	for _, t := range sorted {
		squares += (t - s.Mean) * (t - s.Mean)
	}
	if s.StdDev = math.Sqrt(squares / float64(n)); s.Mean > 0 {
		s.CV = 100 * s.StdDev / s.Mean
	}
	return s
}

// Package covering says which of many cases a test tries. By default, the cases contain each value of each parameter.
// With MSCCLC_TESTS=ci, they contain each pair of values. With MSCCLC_TESTS=full, they are all combinations.
package covering

import (
	"fmt"
	"os"
	"testing"
)

// Variable names the variable of the environment that says how much tests try: ci is what CI runs, and full every
// combination, which takes hours.
const Variable = "MSCCLC_TESTS"

// CI reports whether tests are to try what CI does, or more.
func CI() bool { return asked() != "" }

// Full reports whether tests are to try every combination.
func Full() bool { return asked() == "full" }

func asked() string {
	v := os.Getenv(Variable)
	if v != "" && v != "ci" && v != "full" {
		panic(fmt.Sprintf("%s=%s: it takes ci and full", Variable, v))
	}
	return v
}

// ForCI skips a test that only CI runs by default: one under a sanitizer, say, whose build takes longer than all other
// tests of the package, where a test without the sanitizer runs the same code.
func ForCI(t testing.TB) {
	t.Helper()
	if !CI() {
		t.Skipf("%s=ci runs it", Variable)
	}
}

// Takes reports whether a test tries the n-th of many cases when it tries one in period of them. A case that recurs
// with that period is tried at each phase.
func Takes(n, period int) bool { return (n+n/period)%period == 0 }

// OneIn reports whether a test tries the n-th of many cases: for CI each, and by default one in period.
func OneIn(n, period int) bool { return CI() || Takes(n, period) }

// Share returns n for CI, and a quarter of it by default: how many random programs a test tries that is slow.
func Share(n int) int {
	if CI() {
		return n
	}
	return (n + 3) / 4
}

// Rows returns rows of one value for each factor, where factor f has the values 0 to sizes[f]-1: the rows of Each, for
// CI those of Pairwise, and where everything is asked for those of Product.
func Rows(sizes []int, turn int) [][]int {
	switch {
	case Full():
		return Product(sizes)
	case CI():
		return Pairwise(sizes)
	}
	return Each(sizes, turn)
}

// Product returns all rows.
func Product(sizes []int) [][]int {
	rows := [][]int{{}}
	for _, n := range sizes {
		var longer [][]int
		for _, r := range rows {
			for v := range n {
				longer = append(longer, append(r[:len(r):len(r)], v))
			}
		}
		rows = longer
	}
	return rows
}

// Each returns as many rows as the largest factor has values, in which each value of each factor is. The rows of
// different turns differ in which values meet: those of many turns hold each pair of values.
func Each(sizes []int, turn int) [][]int {
	most := 0
	for _, n := range sizes {
		most = max(most, n)
	}
	rows := make([][]int, most)
	for i := range rows {
		for f, n := range sizes {
			rows[i] = append(rows[i], (i+shift(turn, f))%n)
		}
	}
	return rows
}

// shift mixes the bits of a turn and a factor.
func shift(turn, f int) int {
	x := uint32(turn)*0x9e3779b9 + uint32(f+1)*0x85ebca6b
	x ^= x >> 15
	x *= 0x2c1b3c6d
	x ^= x >> 13
	return int(x >> 8)
}

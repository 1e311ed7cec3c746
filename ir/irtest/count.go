package irtest

import (
	"os"
	"strconv"
	"testing"
)

// Count returns the number of random programs that a test judges: usual, or what
// MSCCLC_RANDOM asks for.
func Count(t testing.TB, usual int) int { return asked(t, "MSCCLC_RANDOM", usual) }

// First returns the seed of the first of them: 0, or what MSCCLC_SEED asks for, so that several machines share a long
// run.
func First(t testing.TB) int { return asked(t, "MSCCLC_SEED", 0) }

func asked(t testing.TB, variable string, usual int) int {
	t.Helper()
	s := os.Getenv(variable)
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

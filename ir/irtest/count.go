package irtest

import (
	"os"
	"strconv"
	"testing"

	"mscclc/internal/covering"
)

// Count is the number of random programs that a test judges: usual in CI, by default a quarter of them, and what
// MSCCLC_RANDOM asks for.
func Count(t testing.TB, usual int) int {
	t.Helper()
	s := os.Getenv("MSCCLC_RANDOM")
	if s == "" && !covering.CI() {
		return (usual + 3) / 4
	}
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

package irtest

import (
	"os"
	"strconv"
	"testing"
)

// Count is the number of random programs that a test judges: usual, or what
// MSCCLC_RANDOM asks for.
func Count(t testing.TB, usual int) int {
	t.Helper()
	s := os.Getenv("MSCCLC_RANDOM")
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

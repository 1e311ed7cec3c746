package diag

import (
	"math"
	"testing"
)

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{
		0:                   "0 B",
		1000:                "1000 B",
		1 << 10:             "1 KiB",
		1000000:             "1000000 B",
		1<<20 - 1:           "1048575 B",
		2<<20 - 1:           "2 MiB less 1 B",
		1<<30 + 1<<20:       "1025 MiB",
		4<<30 - 128:         "4 GiB less 128 B",
		4<<30 - 1<<10:       "4194303 KiB",
		math.MaxInt64:       "8589934592 GiB less 1 B",
		math.MaxInt64 - 500: "8589934592 GiB less 501 B",
	} {
		if got := SizeText(n); got != want {
			t.Errorf("SizeText(%d) = %q, want %q", n, got, want)
		}
	}
}

package diag

import (
	"fmt"
	"math"
)

// mostLimit is the largest value of a limit that LimitHint names.
const mostLimit = 1 << 50

// LimitHint is the hint of a message about a limit that a call of the command may raise: its flag with a value that is at least need, which
// --limit takes, or with the largest value where need is more. Values have a suffix, K, M or G, where that makes them short.
func LimitHint(name string, need int64) string {
	return fmt.Sprintf("--limit %s=%s is enough", name, limitText(min(max(need, 1), mostLimit)))
}

// limitText is a number from n on, as --limit takes it.
func limitText(n int64) string {
	for _, unit := range []struct {
		suffix string
		size   int64
	}{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}} {
		if n >= 8*unit.size || n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d%s", (n+unit.size-1)/unit.size, unit.suffix)
		}
	}
	return fmt.Sprint(n)
}

// AtMost is a*b, or the largest int64 where that is more; both are at least 0.
func AtMost(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

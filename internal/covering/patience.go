package covering

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// Patience is a limit of time for a test: ten times what a quiet machine takes at most, so that other work does not
// break the test, and on a very busy machine more, by how many processes share a processor. Tests print what they took.
func Patience(limit time.Duration) time.Duration {
	text, err := os.ReadFile("/proc/loadavg")
	var load float64
	if err == nil {
		_, err = fmt.Sscan(string(text), &load)
	}
	if err != nil {
		return 10 * limit
	}
	return time.Duration(float64(limit) * max(10, load/float64(runtime.NumCPU())))
}

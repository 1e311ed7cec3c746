package covering

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// Patience is a limit of time for a test: limit itself, and on a busy machine more, by how many processes share a
// processor.
func Patience(limit time.Duration) time.Duration {
	text, err := os.ReadFile("/proc/loadavg")
	var load float64
	if err == nil {
		_, err = fmt.Sscan(string(text), &load)
	}
	if err != nil {
		return limit
	}
	return time.Duration(float64(limit) * max(1, load/float64(2*runtime.NumCPU())))
}

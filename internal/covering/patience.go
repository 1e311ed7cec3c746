package covering

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// LimitsVariable names the variable of the environment that has tests hold limits of time as they are. The machine must
// have no other work then.
const LimitsVariable = "MSCCLC_LIMITS"

// Exact reports whether tests are to hold limits of time as they are.
func Exact() bool { return os.Getenv(LimitsVariable) != "" }

// Patience returns the limit of time that a test holds. Where limits are exact it is the limit. Else it is ten times
// the limit, so that other work does not break the test, and on a very busy machine more, by how many processes share a
// processor. Tests print what they took.
func Patience(limit time.Duration) time.Duration {
	if Exact() {
		return limit
	}
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

package shared

import (
	"fmt"
	"os"
	"strings"
)

// Available returns the bytes of memory that the machine has left, or the control group of this process, or its own
// limit (ulimit -v), if that is less. Where the system does not say, known is false.
func Available() (bytes int64, known bool) {
	bytes, known = onMachine()
	if own, limited := ownSpace(); limited && (!known || own < bytes) {
		return own, true
	}
	return bytes, known
}

// onMachine is Available whatever limits this process itself.
func onMachine() (bytes int64, known bool) {
	text, err := os.ReadFile("/proc/meminfo")
	if _, rest, ok := strings.Cut(string(text), "MemAvailable:"); err == nil && ok {
		_, err = fmt.Sscan(rest, &bytes)
		bytes, known = bytes<<10, err == nil
	}
	var most, used int64
	if read("/sys/fs/cgroup/memory.max", &most) && read("/sys/fs/cgroup/memory.current", &used) &&
		(!known || most-used < bytes) {
		return max(most-used, 0), true
	}
	return bytes, known
}

// read reads a number from a file of the system.
func read(path string, n *int64) bool {
	text, err := os.ReadFile(path)
	if err == nil {
		_, err = fmt.Sscan(string(text), n)
	}
	return err == nil
}

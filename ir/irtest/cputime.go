//go:build unix

package irtest

import (
	"syscall"
	"time"
)

// CPUTime returns what this process has used of all processors so far. Other processes disturb it less than the clock.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

//go:build unix

package gputest

import (
	"os"
	"syscall"
)

// lock waits until no other process has the lock of a file, and takes it until unlock is called or this process ends.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			return func() { file.Close() }, err
		}
	}
}

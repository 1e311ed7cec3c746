//go:build unix

package runtime

import (
	"os"
	"syscall"
)

// lock waits until no other process has the lock of a file, and takes it until unlock is called or this process ends.
// Where the file system has no locks, it does not wait.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			return func() { file.Close() }, nil
		}
	}
}

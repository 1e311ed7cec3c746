package doctorcmd

import (
	"fmt"

	"mscclc/ir/diag"

	"golang.org/x/sys/unix"
)

// freeBytes returns the free bytes of the file system of a folder, in whole MiB.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	return int64(s.Bavail) * s.Bsize &^ (1<<20 - 1), nil
}

// writable returns an error if this user can make no files in a folder, or in the nearest above it that exists.
func writable(dir string) error {
	at := nearest(dir)
	if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%s cannot be written: %w", at, err)
	}
	return nil
}

// lockedMemory returns the most memory that a process may lock, or "" if that is enough for cards for RDMA.
func lockedMemory() string {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil || limit.Cur >= 1<<30 {
		return ""
	}
	return diag.SizeText(int64(limit.Cur))
}

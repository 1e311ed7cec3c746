//go:build unix

package tuned

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"mscclc/internal/usercache"
)

// Lock keeps other commands of the user from measuring until unlock is called, or this process ends. busy says that
// another one measures.
func Lock() (unlock func(), busy bool, err error) {
	folder, err := usercache.Open("tuned")
	if err != nil {
		return nil, false, err
	}
	defer folder.Close()
	file, err := os.OpenFile(filepath.Join(folder.Path(), "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, false, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close() // some file systems have no locks
		return func() {}, errors.Is(err, syscall.EWOULDBLOCK), nil
	}
	return func() { file.Close() }, false, nil
}

//go:build unix

package usercache

import (
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether the file is the user's who runs this.
func owned(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

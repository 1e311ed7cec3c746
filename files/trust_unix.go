//go:build unix

package files

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// WritableByOthers are the bits of a mode with which others than the owner may write.
const WritableByOthers = 0o022

// Owner returns the number of the user to whom a file belongs.
func Owner(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return os.Geteuid()
}

// Trusted returns an error unless only the user, or root, can have written the file or folder at path, or can replace
// it: it and each folder above it belong to one of them, and nobody else may write there. Others may write to a folder
// that has the sticky bit, such as /tmp: they cannot replace what is not theirs. Links count at both ends.
func Trusted(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, end := range []string{path, real} {
		for at := end; ; at = filepath.Dir(at) {
			if err := trusted(at); err != nil {
				return err
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	return nil
}

// trusted looks at one file or folder.
func trusted(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if uid := Owner(info); uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (%d)", path, uid)
	}
	if info.Mode().Perm()&WritableByOthers != 0 && !(info.IsDir() && info.Mode()&fs.ModeSticky != 0) {
		return fmt.Errorf("other users may write to %s (chmod go-w)", path)
	}
	return nil
}

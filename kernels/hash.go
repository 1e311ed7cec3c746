package kernels

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"sync"
)

// Hash returns the SHA-256 of the kernel's sources, and so of all layouts that host and kernel share. It tells builds
// whose kernels differ apart.
func Hash() [32]byte { return hash() }

var hash = sync.OnceValue(func() [32]byte {
	h := sha256.New()
	fs.WalkDir(Sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := Sources.ReadFile(path) // what is embedded is there
			fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		}
		return err
	})
	return [32]byte(h.Sum(nil))
})

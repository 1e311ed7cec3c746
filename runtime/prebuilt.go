package runtime

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mscclc/executor/gpu"
	"mscclc/kernels"
	"mscclc/transport"
)

// stamp is the file beside libraries that holds the hash of the sources that they were built of.
const stamp = "SOURCES"

// ErrOther is the error of Prebuilt where the libraries were built of other sources than those of this program.
var ErrOther = errors.New("libraries of another version")

// Prebuilt returns the folder with the libraries that were installed with a program: lib/mscclc or lib beside its
// folder bin, after links are resolved. It returns "" if there is none. If there are only libraries of another version, it
// returns their folder and ErrOther.
func Prebuilt(program string) (string, error) {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", nil
	}
	want, err := sourcesHash()
	if err != nil {
		return "", err
	}
	var other string
	for _, at := range []string{"lib/mscclc", "lib"} {
		dir := filepath.Join(filepath.Dir(filepath.Dir(real)), filepath.FromSlash(at))
		if !whole(dir) {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(dir, stamp)); err == nil && strings.TrimSpace(string(text)) == want {
			return dir, nil
		}
		other = cmp.Or(other, dir)
	}
	if other != "" {
		return other, ErrOther
	}
	return "", nil
}

// writeStamp writes the stamp of the sources of this program.
func writeStamp(dir string) error {
	hash, err := sourcesHash()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, stamp), []byte(hash+"\n"), 0o644)
}

// sourcesHash returns a hash of all sources of the libraries.
func sourcesHash() (string, error) {
	h := sha256.New()
	for _, sources := range []fs.FS{Sources, kernels.Sources, gpu.Sources, transport.Sources} {
		err := fs.WalkDir(sources, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(sources, name)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12]), nil
}

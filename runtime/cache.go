package runtime

import (
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"mscclc/executor/cpu"
	"mscclc/executor/gpu"
	"mscclc/files"
	"mscclc/kernels"
	"mscclc/transport"
)

// building is what the names of folders begin with in which libraries are built; stale is when one is left over.
const (
	building = "build"
	stale    = 24 * time.Hour
)

// CacheDir returns the user's cache, where only the user and root may write: that of the environment, or else that in
// the home of the user. The error says what is wrong with the first.
func CacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	first := trustedBelow(cache)
	if first == nil {
		return cache, nil
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		if cache = filepath.Join(u.HomeDir, ".cache"); trustedBelow(cache) == nil {
			return cache, nil
		}
	}
	return "", fmt.Errorf("the cache is not safe: %w; set XDG_CACHE_HOME to a folder of your own", first)
}

// trustedBelow is files.Trusted for the folders of a cache that we use, or the nearest above them that exist.
func trustedBelow(cache string) error {
	for _, part := range []string{"runtime", "bundles"} {
		at := filepath.Join(cache, "mscclc", part)
		for at != filepath.Dir(at) {
			if _, err := os.Lstat(at); err == nil {
				break
			}
			at = filepath.Dir(at)
		}
		if err := files.Trusted(at); err != nil {
			return err
		}
	}
	return nil
}

// Cached returns a folder with the libraries. It builds them there unless they have been built of the same sources by
// the same compiler. The folder is in the user's cache.
func Cached() (string, error) {
	return CachedBy(func(string) func() { return func() {} })
}

// CachedBy is Cached for a caller that removes the folder of an unfinished build where the process ends early: begin
// takes its name, and returns what is called once that folder is gone. More are functions that NCCLLibrary hands on
// beside those that it knows.
func CachedBy(begin func(dir string) (done func()), more ...string) (string, error) {
	return cached("", []string{PreloadLibrary, NCCLLibrary}, func(dir string) error { return Build(dir, more...) }, begin,
		more...)
}

// CachedC is Cached for the folder of CLibrary and Header.
func CachedC() (string, error) {
	return cached("c", []string{CLibrary}, BuildC, func(string) func() { return func() {} })
}

// cached returns a folder of the user's cache with some libraries, which build makes there if they are not. Its name
// begins with prefix.
func cached(prefix string, libraries []string, build func(dir string) error, begin func(dir string) (done func()),
	more ...string) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	id, err := identity(more)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "mscclc", "runtime", prefix+id)
	if whole(dir, libraries) && safe(dir, libraries) == nil {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	removeStale(filepath.Dir(dir), time.Now())
	built, err := os.MkdirTemp(filepath.Dir(dir), building)
	if err != nil {
		return "", err
	}
	defer begin(built)()
	defer os.RemoveAll(built)
	if err := build(built); err != nil {
		return "", fmt.Errorf("building the library of collectives: %w", err)
	}
	for _, part := range []string{"objects", "forwards", "cobjects"} {
		if err := os.RemoveAll(filepath.Join(built, part)); err != nil {
			return "", err
		}
	}
	if err := os.Rename(built, dir); err != nil {
		if !whole(dir, libraries) { // nor did another process make it
			return "", err
		}
	}
	return dir, nil
}

// safe returns an error unless only the user and root can have written the libraries in a folder.
func safe(dir string, libraries []string) error {
	for _, name := range libraries {
		if err := files.Trusted(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

// removeStale removes the folders of builds that have not ended for a day. What cannot be removed stays.
func removeStale(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), building) && now.Sub(info.ModTime()) > stale {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// whole reports whether a folder has all libraries.
func whole(dir string, libraries []string) bool {
	for _, name := range libraries {
		f, err := elf.Open(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return false
		}
		_, err = f.DynamicSymbols()
		f.Close()
		if err != nil {
			return false
		}
	}
	return true
}

// identity returns a hash of all that the libraries are made of.
func identity(more []string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.GOARCH, cmp.Or(os.Getenv("CXX"), "g++"), flags, cppFlags, linkFlags, more)
	for _, sources := range []fs.FS{Sources, kernels.Sources, cpu.Sources, gpu.Sources, transport.Sources} {
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

package runtime

import (
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"mscclc/files"
)

// building is what the names of folders begin with in which libraries are built; stale is when one is left over.
const (
	building = "build"
	stale    = 24 * time.Hour
)

// CacheFolder returns a folder of the user's cache, "runtime" or "bundles", where only the user and root may write. It
// is below MSCCLC_CACHE if that is a path, or else in the cache of the environment, or in that of the user's home. The
// error says what is wrong with the first.
func CacheFolder(part string) (string, error) {
	if set := os.Getenv("MSCCLC_CACHE"); set != "" && set != "off" {
		if !filepath.IsAbs(set) {
			return "", fmt.Errorf("MSCCLC_CACHE is %q, which is neither an absolute path nor off", set)
		}
		dir := filepath.Join(set, part)
		return dir, trustedBelow(dir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "mscclc", part)
	first := trustedBelow(dir)
	if first == nil {
		return dir, nil
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		if dir = filepath.Join(u.HomeDir, ".cache", "mscclc", part); trustedBelow(dir) == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("the cache is not safe: %w", first)
}

// trustedBelow is files.Trusted for a folder, or the nearest above it that exists.
func trustedBelow(dir string) error {
	for dir != filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return files.Trusted(dir)
}

// ErrNoCompiler is wrapped by errors of Build and Cached where the compiler is not there.
var ErrNoCompiler = errors.New("no compiler")

// A part is libraries that are built together, in a folder of the cache whose name begins with prefix.
type part struct {
	prefix string
	files  []string
	build  func(dir string, more ...string) error
}

// The parts: NCCL's functions, and the interface of C.
var (
	ncclPart = part{"", []string{PreloadLibrary, NCCLLibrary}, Build}
	cPart    = part{"c", []string{CLibrary}, func(dir string, _ ...string) error { return BuildC(dir) }}
)

// Cached returns a folder with the libraries of Build. It builds them there unless they have been built of the same
// sources by the same compiler. The folder is in the user's cache. CachedC is Cached for CLibrary and Header.
func Cached() (string, error) { return CachedBy(func(string) func() { return func() {} }) }

// CachedC is described at Cached.
func CachedC() (string, error) { return cPart.cached(func(string) func() { return func() {} }) }

// CachedBy is Cached for a caller that removes the folder of an unfinished build where the process ends early: begin
// takes its name, and returns what is called once that folder is gone. More are functions that NCCLLibrary hands on
// beside those that it knows. Of several processes, one builds, and the others wait for it.
func CachedBy(begin func(dir string) (done func()), more ...string) (string, error) {
	return ncclPart.cached(begin, more...)
}

// Where returns the folder in which Cached has the libraries, or will build them, and whether they are there.
func Where() (dir string, built bool, err error) { return ncclPart.where(nil) }

func (p *part) where(more []string) (dir string, built bool, err error) {
	cache, err := CacheFolder("runtime")
	if err != nil {
		return "", false, err
	}
	id, err := identity(more)
	if err != nil {
		return "", false, err
	}
	dir = filepath.Join(cache, p.prefix+id)
	return dir, p.whole(dir) && p.safe(dir) == nil, nil
}

// cached returns the folder of the libraries, which it builds if they are not there.
func (p *part) cached(begin func(dir string) (done func()), more ...string) (string, error) {
	dir, built, err := p.where(more)
	if err != nil || built {
		return dir, err
	}
	cache := filepath.Dir(dir)
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if p.whole(dir) && p.safe(dir) == nil { // another process built it
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	removeStale(cache, time.Now())
	temporary, err := os.MkdirTemp(cache, building)
	if err != nil {
		return "", err
	}
	defer begin(temporary)()
	defer os.RemoveAll(temporary)
	if err := p.clean(temporary, more...); err != nil {
		return "", fmt.Errorf("building the library of collectives: %w", err)
	}
	if err := os.Rename(temporary, dir); err != nil {
		if !p.whole(dir) { // nor did another process make it
			return "", err
		}
	}
	return dir, nil
}

// clean builds the libraries, and removes what only the compiler needs.
func (p *part) clean(dir string, more ...string) error {
	if err := p.build(dir, more...); err != nil {
		return err
	}
	for _, name := range []string{"objects", "forwards", "cobjects"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// BuildAll builds all libraries and Header in a folder, with their sources.
func BuildAll(dir string) error { return errors.Join(ncclPart.clean(dir), cPart.clean(dir)) }

// safe returns an error unless only the user and root can have written the libraries in a folder.
func (p *part) safe(dir string) error {
	for _, name := range p.files {
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
func (p *part) whole(dir string) bool {
	for _, name := range p.files {
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

// identity returns a hash of all that the libraries are made of: the sources, the flags, the compiler with its version,
// and the version of the C library.
func identity(more []string) (string, error) {
	sources, err := sourcesHash()
	if err != nil {
		return "", err
	}
	made, err := compilerVersion()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, sources, runtime.GOARCH, compiler(), made, flags, cppFlags, linkFlags, more)
	return fmt.Sprintf("%x", h.Sum(nil)[:12]), nil
}

// compilerVersion returns the versions of the compiler and of the C library, as the compiler's headers have them.
func compilerVersion() (string, error) {
	words := compiler()
	cmd := exec.Command(words[0], append(words[1:], "-E", "-P", "-x", "c++", "-")...)
	cmd.Stdin = strings.NewReader("#include <features.h>\n__VERSION__ __GLIBC__ __GLIBC_MINOR__\n")
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", missing()
	}
	if err != nil {
		return "", fmt.Errorf("%s does not work: %w", words[0], err)
	}
	return string(out), nil
}

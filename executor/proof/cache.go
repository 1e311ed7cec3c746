package proof

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// cachedFrom is the number of steps from which a proof is looked for and kept in
// the cache. A smaller program is proven sooner than the prover's own binary is
// hashed; RATIONALE.md has the figures.
const cachedFrom = 200_000

// The bounds of the cache. An entry is a line.
const (
	maxProofs     = 1024
	maxProofBytes = 256
)

// A cache is a folder with a file for each program that was proven. It
// holds only what this very binary wrote: a key begins with the hash of the
// binary, so that another prover's word counts for nothing. Whatever is odd
// about an entry, it is as if there were none.
type cache struct {
	root   *os.Root
	prover key
}

// userCache returns the user's cache, or nil where there is none: where MSCCLC_CACHE is off, and where the folder
// cannot be made or is open to others.
var userCache = sync.OnceValue(func() *cache {
	dir, err := cacheFolder(os.Getenv("MSCCLC_CACHE"))
	if err != nil {
		return nil
	}
	c, err := openCache(dir)
	if err != nil {
		return nil
	}
	return c
})

// cacheFolder says where the cache lies, by the value of MSCCLC_CACHE.
func cacheFolder(set string) (string, error) {
	switch set {
	case "off":
		return "", fs.ErrNotExist
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(base); err == nil && !owned(info) { // under sudo, say
			return "", fs.ErrPermission
		}
		set = filepath.Join(base, "mscclc")
	}
	if !filepath.IsAbs(set) {
		return "", fmt.Errorf("MSCCLC_CACHE is %q, which is neither an absolute path nor off", set)
	}
	return filepath.Join(set, "proofs"), nil
}

func openCache(dir string) (*cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	c := &cache{root: root}
	info, err := root.Stat(".")
	if err == nil && (!owned(info) || info.Mode().Perm()&0o077 != 0) {
		err = fmt.Errorf("%s is another's, or open to others", dir)
	}
	if err == nil {
		c.prover, err = binaryHash()
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return c, nil
}

// binaryHash identifies the prover by the bytes of the running binary: a version
// or a commit would not tell two builds of a changed tree apart.
func binaryHash() (k key, err error) {
	name := "/proc/self/exe" // the file that runs, though another have taken its place
	if runtime.GOOS != "linux" {
		if name, err = os.Executable(); err != nil {
			return k, err
		}
	}
	f, err := os.Open(name)
	if err != nil {
		return k, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return k, err
	}
	return key(h.Sum(nil)), nil
}

// entry returns the whole of the file named by k.
func entry(k key, d Demand) string {
	return fmt.Sprintf("mscclc proof 1: %x slots %d chunks %d\n", k, d.Slots, d.Chunks)
}

// find looks for the proof k.
func (c *cache) find(k key) (d Demand, ok bool) {
	name := hex.EncodeToString(k[:])
	if info, err := c.root.Lstat(name); err != nil || !info.Mode().IsRegular() { // opening a pipe would wait
		return d, false
	}
	f, err := c.root.Open(name)
	if err != nil {
		return d, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !owned(info) || info.Mode().Perm()&0o077 != 0 ||
		info.Size() > maxProofBytes {
		return d, false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxProofBytes))
	if err != nil {
		return d, false
	}
	_, rest, _ := strings.Cut(string(text), " slots ")
	if n, err := fmt.Sscanf(rest, "%d chunks %d\n", &d.Slots, &d.Chunks); n != 2 || err != nil || d.Slots < 1 ||
		d.Chunks < 1 || string(text) != entry(k, d) {
		return Demand{}, false
	}
	now := time.Now()
	c.root.Chtimes(name, now, now) // prune takes the oldest
	return d, true
}

// add keeps the proof k. That it cannot is no error.
func (c *cache) add(k key, d Demand) {
	c.prune()
	temp := fmt.Sprintf("tmp-%016x", rand.Uint64())
	f, err := c.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	_, err = io.WriteString(f, entry(k, d))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = c.root.Rename(temp, hex.EncodeToString(k[:]))
	}
	if err != nil {
		c.root.Remove(temp)
	}
}

// prune removes the oldest quarter where the cache is full, and what is left
// of writers that were stopped. It touches no file that is not named as ours.
func (c *cache) prune() {
	dir, err := c.root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	files, err := dir.ReadDir(16 * maxProofs)
	if err != nil && err != io.EOF {
		return
	}
	type aged struct {
		name string
		at   time.Time
	}
	var kept []aged
	for _, f := range files {
		info, err := f.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		switch name := f.Name(); {
		case strings.HasPrefix(name, "tmp-") && time.Since(info.ModTime()) > time.Hour:
			c.root.Remove(name)
		case isKey(name):
			kept = append(kept, aged{name, info.ModTime()})
		}
	}
	if len(kept) < maxProofs {
		return
	}
	slices.SortFunc(kept, func(a, b aged) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	for _, f := range kept[:len(kept)-maxProofs*3/4] {
		c.root.Remove(f.name)
	}
}

func isKey(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == 2*sha256.Size
}

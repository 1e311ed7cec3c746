package proof

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"mscclc/internal/usercache"
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
	folder *usercache.Folder
	prover key
}

// userCache returns the user's cache, or nil where there is none: where MSCCLC_CACHE is off, and where the folder
// cannot be made or is open to others.
var userCache = sync.OnceValue(func() *cache {
	folder, err := usercache.Open("proofs")
	if err != nil {
		return nil
	}
	c, err := openCache(folder)
	if err != nil {
		return nil
	}
	return c
})

func openCache(folder *usercache.Folder) (*cache, error) {
	prover, err := binaryHash()
	if err != nil {
		folder.Close()
		return nil, err
	}
	return &cache{folder, prover}, nil
}

// binaryHash identifies the prover by the bytes of the running binary: a version
// or a commit would not distinguish two builds of a changed tree.
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
	text, err := c.folder.Read(usercache.Name(k), maxProofBytes)
	if err != nil {
		return d, false
	}
	_, rest, _ := strings.Cut(string(text), " slots ")
	if n, err := fmt.Sscanf(rest, "%d chunks %d\n", &d.Slots, &d.Chunks); n != 2 || err != nil || d.Slots < 1 ||
		d.Chunks < 1 || string(text) != entry(k, d) {
		return Demand{}, false
	}
	c.folder.Used(usercache.Name(k))
	return d, true
}

// add keeps the proof k. That it cannot is no error.
func (c *cache) add(k key, d Demand) {
	c.folder.Prune(maxProofs)
	c.folder.Write(usercache.Name(k), []byte(entry(k, d)))
}

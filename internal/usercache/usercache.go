// Package usercache keeps small files in the user's cache. [Open] opens a folder of the cache. MSCCLC_CACHE names
// another place for the cache, or turns it off. The package reads only files that nobody but the user can have written.
// It writes a file as a whole or not at all.
//
// The package imports nothing of this module.
package usercache

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrOff is the error of Open where MSCCLC_CACHE is off.
var ErrOff = errors.New("the cache is off: MSCCLC_CACHE is off")

// A Folder is a folder of the user's cache. Its files are named by hashes (Name).
type Folder struct{ root *os.Root }

// Open opens a folder of the cache, and makes it if it is not there. It fails where MSCCLC_CACHE is off, and where the
// folder cannot be made or is open to others.
func Open(part string) (*Folder, error) {
	dir, err := Where(os.Getenv("MSCCLC_CACHE"), part)
	if err != nil {
		return nil, err
	}
	return OpenAt(dir)
}

// Find opens a folder of the cache if it is there. The error wraps fs.ErrNotExist if it is not.
func Find(part string) (*Folder, error) {
	dir, err := Where(os.Getenv("MSCCLC_CACHE"), part)
	if err != nil {
		return nil, err
	}
	return open(dir)
}

// Where returns a folder of the cache, by the value of MSCCLC_CACHE.
func Where(set, part string) (string, error) {
	switch set {
	case "off":
		return "", ErrOff
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(base); err == nil && !owned(info) { // under sudo, say
			return "", fmt.Errorf("%s is another user's: %w", base, fs.ErrPermission)
		}
		set = filepath.Join(base, "mscclc")
	}
	if !filepath.IsAbs(set) {
		return "", fmt.Errorf("MSCCLC_CACHE is %q, which is neither an absolute path nor off", set)
	}
	return filepath.Join(set, part), nil
}

// OpenAt opens a folder by its path, and makes it if it is not there.
func OpenAt(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return open(dir)
}

func open(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err == nil && (!owned(info) || info.Mode().Perm()&0o077 != 0) {
		err = fmt.Errorf("%s is another user's, or open to others", dir)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return &Folder{root}, nil
}

// Path returns the path of the folder.
func (f *Folder) Path() string { return f.root.Name() }

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Name returns the name of the file for a key.
func Name(key [sha256.Size]byte) string { return hex.EncodeToString(key[:]) }

// Names returns the names of all files that have one of Name's, in order.
func (f *Folder) Names() ([]string, error) {
	list, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range list {
		if isName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Read returns the text of a file of up to a given number of bytes. The error wraps fs.ErrNotExist where there is none.
func (f *Folder) Read(name string, most int64) ([]byte, error) {
	if info, err := f.root.Lstat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() { // opening a pipe would wait
		return nil, fmt.Errorf("%s is no file", name)
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || !owned(info) || info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s is another user's, or open to others", name)
	case info.Size() > most:
		return nil, fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// Used has Prune take a file for the newest.
func (f *Folder) Used(name string) {
	now := time.Now()
	f.root.Chtimes(name, now, now)
}

// Write writes a file, in place of the one that is there. If it fails, that one stays.
func (f *Folder) Write(name string, text []byte) error {
	temp := fmt.Sprintf("tmp-%016x", rand.Uint64())
	file, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = f.root.Rename(temp, name)
	}
	if err != nil {
		f.root.Remove(temp)
	}
	return err
}

// Prune removes the oldest quarter of the files where there are too many, and what is left of writers that were
// stopped. It touches no file that is not named as ours.
func (f *Folder) Prune(most int) {
	dir, err := f.root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	files, err := dir.ReadDir(16 * most)
	if err != nil && err != io.EOF {
		return
	}
	type aged struct {
		name string
		at   time.Time
	}
	var kept []aged
	for _, file := range files {
		info, err := file.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		switch name := file.Name(); {
		case strings.HasPrefix(name, "tmp-") && time.Since(info.ModTime()) > time.Hour:
			f.root.Remove(name)
		case isName(name):
			kept = append(kept, aged{name, info.ModTime()})
		}
	}
	if len(kept) < most {
		return
	}
	slices.SortFunc(kept, func(a, b aged) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	for _, file := range kept[:len(kept)-most*3/4] {
		f.root.Remove(file.name)
	}
}

func isName(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == 2*sha256.Size
}

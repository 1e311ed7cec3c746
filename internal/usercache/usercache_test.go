package usercache

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWhere(t *testing.T) {
	if _, err := Where("off", "proofs"); err != ErrOff {
		t.Error("off is a folder")
	}
	if _, err := Where("relative", "proofs"); err == nil {
		t.Error("a relative path is taken")
	}
	base := t.TempDir()
	dir, err := Where(base, "proofs")
	if err != nil || dir != filepath.Join(base, "proofs") {
		t.Fatalf("%s, %v", dir, err)
	}
	os.Mkdir(dir, 0o755)
	os.Chmod(dir, 0o755)
	if c, err := OpenAt(dir); err == nil {
		c.Close()
		t.Error("a folder that others read is taken")
	}
	if _, err := OpenAt(filepath.Join(os.DevNull, "proofs")); err == nil {
		t.Error("a folder that cannot be made is taken")
	}
}

func TestPrune(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache", "proofs")
	c, err := OpenAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const most = 64
	old := time.Now().Add(-48 * time.Hour)
	for name, at := range map[string]time.Time{"tmp-old": old, "tmp-new": time.Now(), "foreign": old} {
		os.WriteFile(filepath.Join(dir, name), nil, 0o600)
		os.Chtimes(filepath.Join(dir, name), at, at)
	}
	for i := range most {
		name := filepath.Join(dir, fmt.Sprintf("%064x", i))
		os.WriteFile(name, nil, 0o600)
		at := old.Add(time.Duration(i) * time.Second)
		os.Chtimes(name, at, at)
	}
	newest := Name([sha256.Size]byte{0xff})
	c.Prune(most)
	if err := c.Write(newest, []byte("new")); err != nil {
		t.Fatal(err)
	}
	files, _ := os.ReadDir(dir)
	if n := len(files); n != most*3/4+3 {
		t.Errorf("%d files are left", n)
	}
	for name, want := range map[string]bool{"tmp-old": false, "tmp-new": true, "foreign": true,
		fmt.Sprintf("%064x", 0): false, fmt.Sprintf("%064x", most-1): true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := c.Read(newest, 3); err != nil || string(text) != "new" {
		t.Errorf("the newest has %q, %v", text, err)
	}
}

// TestWriteFails: a file that cannot be written leaves the one before, and nothing else.
func TestWriteFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hosts")
	c, err := OpenAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	name := Name([sha256.Size]byte{1})
	if err := os.MkdirAll(filepath.Join(dir, name, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(name, []byte("text")); err == nil {
		t.Error("a folder was replaced")
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
	if _, err := c.Read(Name([sha256.Size]byte{2}), 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

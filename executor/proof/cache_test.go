package proof

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// testCache returns a cache in a folder of its own.
func testCache(t *testing.T) (*cache, string) {
	dir := filepath.Join(t.TempDir(), "cache", "proofs")
	c, err := openCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.root.Close() })
	return c, dir
}

func TestProofCache(t *testing.T) {
	c, dir := testCache(t)
	k, d := key{1, 2, 3}, Demand{Slots: 8, Chunks: 5}
	if _, ok := c.find(k); ok {
		t.Fatal("an empty cache has a proof")
	}
	c.add(k, d)
	if got, ok := c.find(k); !ok || got != d {
		t.Fatalf("found %v, %v", got, ok)
	}
	if _, ok := c.find(key{1, 2, 4}); ok {
		t.Error("another program is proven")
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	file := filepath.Join(dir, files[0].Name())
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	good, _ := os.ReadFile(file)
	distrusted := func(what string) {
		t.Helper()
		if _, ok := c.find(k); ok {
			t.Errorf("%s is trusted", what)
		}
	}
	for _, text := range []string{"", "x", string(good[:20]), string(good) + "\n",
		strings.Replace(string(good), "slots 8", "slots -8", 1), strings.Replace(string(good), "slots 8", "slots 08", 1),
		entry(key{9}, d), strings.Repeat("a", 1<<20)} {
		os.WriteFile(file, []byte(text), 0o600)
		distrusted("the text " + text[:min(len(text), 30)])
	}
	os.WriteFile(file, good, 0o600)
	os.Chmod(file, 0o620)
	distrusted("a file that others write")
	os.Remove(file)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	os.WriteFile(elsewhere, good, 0o600)
	os.Symlink(elsewhere, file)
	distrusted("a link")
	os.Remove(file)
	os.Mkdir(file, 0o700)
	distrusted("a folder")
	c.add(k, d) // fails, silently
	distrusted("a folder")
}

func TestProofFolder(t *testing.T) {
	if _, err := cacheFolder("off"); err == nil {
		t.Error("off is a folder")
	}
	if _, err := cacheFolder("relative"); err == nil {
		t.Error("a relative path is taken")
	}
	base := t.TempDir()
	dir, err := cacheFolder(base)
	if err != nil || dir != filepath.Join(base, "proofs") {
		t.Fatalf("%s, %v", dir, err)
	}
	os.Mkdir(dir, 0o755)
	os.Chmod(dir, 0o755)
	if c, err := openCache(dir); err == nil {
		c.root.Close()
		t.Error("a folder that others read is taken")
	}
	if _, err := openCache(filepath.Join(os.DevNull, "proofs")); err == nil {
		t.Error("a folder that cannot be made is taken")
	}
}

func TestPrune(t *testing.T) {
	c, dir := testCache(t)
	old := time.Now().Add(-48 * time.Hour)
	for name, at := range map[string]time.Time{"tmp-old": old, "tmp-new": time.Now(), "foreign": old} {
		os.WriteFile(filepath.Join(dir, name), nil, 0o600)
		os.Chtimes(filepath.Join(dir, name), at, at)
	}
	for i := range maxProofs {
		name := filepath.Join(dir, fmt.Sprintf("%064x", i))
		os.WriteFile(name, nil, 0o600)
		at := old.Add(time.Duration(i) * time.Second)
		os.Chtimes(name, at, at)
	}
	newest := key{0xff}
	c.add(newest, Demand{Slots: 1, Chunks: 1})
	files, _ := os.ReadDir(dir)
	if n := len(files); n != maxProofs*3/4+3 {
		t.Errorf("%d files are left", n)
	}
	for name, want := range map[string]bool{"tmp-old": false, "tmp-new": true, "foreign": true,
		fmt.Sprintf("%064x", 0): false, fmt.Sprintf("%064x", maxProofs-1): true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, ok := c.find(newest); !ok {
		t.Error("the newest is gone")
	}
}

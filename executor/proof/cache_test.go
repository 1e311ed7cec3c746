package proof

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/internal/usercache"
)

// testCache returns a cache in a folder of its own.
func testCache(t *testing.T) (*cache, string) {
	dir := filepath.Join(t.TempDir(), "cache", "proofs")
	folder, err := usercache.OpenAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := openCache(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
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

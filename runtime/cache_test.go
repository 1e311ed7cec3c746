package runtime

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestCacheFolder: MSCCLC_CACHE moves the library and bundles; off leaves them where they are, since a job needs files.
func TestCacheFolder(t *testing.T) {
	home, moved := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	for _, c := range []struct{ set, want, err string }{
		{"", filepath.Join(home, "mscclc", "bundles"), ""},
		{"off", filepath.Join(home, "mscclc", "bundles"), ""},
		{moved, filepath.Join(moved, "bundles"), ""},
		{filepath.Join(moved, "new"), filepath.Join(moved, "new", "bundles"), ""},
		{"relative", "", "neither an absolute path nor off"},
	} {
		t.Setenv("MSCCLC_CACHE", c.set)
		dir, err := CacheFolder("bundles")
		wrong := err != nil || dir != c.want
		if c.err != "" {
			wrong = err == nil || !strings.Contains(err.Error(), c.err)
		}
		if wrong {
			t.Errorf("MSCCLC_CACHE=%s: %s, %v", c.set, dir, err)
		}
	}
}

// fakeCompiler makes a compiler that notes each link of the preload library in a file. Its objects are empty, and its
// libraries are small. It says that it has a version.
func fakeCompiler(t *testing.T) (path, notes string) {
	t.Helper()
	dir := t.TempDir()
	path, notes = filepath.Join(dir, "fake"), filepath.Join(dir, "notes")
	script := `#!/bin/sh
[ "$1" != -E ] || { cat "$0.version"; exit; }
while [ "$1" != -o ]; do
    case $1 in -Wl,--build-id=*) id=$1 ;; esac
    shift
done
[ "$id" ] || { : >"$2"; exit; }
echo 'int any() { return 0; }' | g++ -shared -fPIC -xc - $id -o "$2" || exit
case $2 in */` + PreloadLibrary + `) echo built >>` + notes + ` ;; esac
`
	version := os.WriteFile(path+".version", []byte("1"), 0o600)
	if err := errors.Join(version, os.WriteFile(path, []byte(script), 0o700)); err != nil {
		t.Fatal(err)
	}
	return path, notes
}

// TestOneBuild: several callers at once build once, and another version of the compiler builds anew.
func TestOneBuild(t *testing.T) {
	path, notes := fakeCompiler(t)
	t.Setenv("CXX", path)
	t.Setenv("MSCCLC_CACHE", t.TempDir())
	folders := make([]string, 4)
	var wait sync.WaitGroup
	for i := range folders {
		wait.Go(func() {
			var err error
			if folders[i], err = Cached(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	builds := func() int {
		text, _ := os.ReadFile(notes)
		return strings.Count(string(text), "built")
	}
	if builds() != 1 || folders[0] != folders[3] {
		t.Errorf("%d builds in %q", builds(), folders)
	}
	os.WriteFile(path+".version", []byte("2"), 0o600)
	if dir, err := Cached(); err != nil || dir == folders[0] || builds() != 2 {
		t.Errorf("another compiler: %s, %v, %d builds", dir, err, builds())
	}
	t.Setenv("CXX", filepath.Join(t.TempDir(), "none"))
	if _, err := Cached(); !errors.Is(err, ErrNoCompiler) {
		t.Errorf("no compiler: %v", err)
	}
}

// TestPrebuilt: libraries beside a program are found through links, and those of other sources are not taken.
func TestPrebuilt(t *testing.T) {
	path, _ := fakeCompiler(t)
	t.Setenv("CXX", path)
	root := t.TempDir()
	program, link := filepath.Join(root, "bin", "mscclc"), filepath.Join(t.TempDir(), "mscclc")
	made := os.Mkdir(filepath.Dir(program), 0o755)
	if err := errors.Join(made, os.WriteFile(program, nil, 0o755), os.Symlink(program, link)); err != nil {
		t.Fatal(err)
	}
	if dir, err := Prebuilt(program); dir != "" || err != nil {
		t.Errorf("without libraries: %s, %v", dir, err)
	}
	for _, at := range []string{"lib", "lib/mscclc"} {
		want := filepath.Join(root, at)
		if err := ncclPart.clean(want); err != nil {
			t.Fatal(err)
		}
		if dir, err := Prebuilt(link); dir != want || err != nil {
			t.Errorf("%s: %s, %v", at, dir, err)
		}
		os.Remove(filepath.Join(want, PreloadLibrary))
		os.Link(filepath.Join(want, NCCLLibrary), filepath.Join(want, PreloadLibrary)) // which has another build ID
		if dir, err := Prebuilt(link); dir != want || err != ErrOther {
			t.Errorf("%s of other sources: %s, %v", at, dir, err)
		}
	}
}

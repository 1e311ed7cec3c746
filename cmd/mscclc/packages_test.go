//go:build cgo && linux

package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mscclc/executor/gpu/gputest"

	"github.com/rogpeppe/go-internal/testscript"
)

// These tests are of packages that .ci/snapshot built in the folder MSCCLC_SNAPSHOT, and are skipped without it.

// archives returns the archives of an architecture, or of all ("*").
func archives(t *testing.T, arch string) []string {
	t.Helper()
	folder := os.Getenv("MSCCLC_SNAPSHOT")
	if folder == "" {
		t.Skip("MSCCLC_SNAPSHOT names no folder of .ci/snapshot")
	}
	list, err := filepath.Glob(filepath.Join(folder, "mscclc_*_linux_"+arch+".tar.gz"))
	if err != nil || len(list) == 0 {
		t.Fatalf("%s has no archives: %v", folder, err)
	}
	return list
}

// tooNew reports whether a version of a symbol is beyond glibc 2.28, or of another library than the C library.
func tooNew(version string) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "GLIBC_%d.%d", &major, &minor); n != 2 {
		return version != ""
	}
	return major != 2 || minor > 28
}

func TestTooNew(t *testing.T) {
	for version, want := range map[string]bool{"": false, "GLIBC_2.2.5": false, "GLIBC_2.28": false, "GLIBC_2.29": true,
		"GLIBC_2.34": true, "GLIBC_3.0": true, "GLIBC_ABI_DT_RELR": true, "GLIBCXX_3.4": true, "GCC_3.0": true} {
		if tooNew(version) != want {
			t.Errorf("%q: %v", version, !want)
		}
	}
}

// TestPackagedSymbols: the command and all libraries need glibc 2.28 at most, and no other library than the C library.
func TestPackagedSymbols(t *testing.T) {
	for _, archive := range archives(t, "*") {
		dir := t.TempDir()
		if out, err := exec.Command("tar", "-xzf", archive, "-C", dir, "--strip-components=1").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		seen := 0
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			f, err := elf.Open(path)
			if err != nil {
				return nil
			}
			defer f.Close()
			seen++
			checkSymbols(t, strings.TrimPrefix(path, dir), f)
			return nil
		})
		if err != nil || seen < 3 {
			t.Errorf("%s: %d ELF files, %v", archive, seen, err)
		}
	}
}

// checkSymbols checks the versions of the symbols that a file imports.
func checkSymbols(t *testing.T, name string, f *elf.File) {
	symbols, err := f.ImportedSymbols()
	if err != nil || len(symbols) == 0 {
		t.Errorf("%s imports %d symbols: %v", name, len(symbols), err)
	}
	for _, s := range symbols {
		if tooNew(s.Version) {
			t.Errorf("%s needs %s of %s", name, s.Name, s.Version)
		}
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for _, library := range needed {
		switch base, _, _ := strings.Cut(library, ".so"); base {
		case "libc", "libpthread", "libdl", "libresolv", "libm", "librt", "ld-linux-x86-64", "ld-linux-aarch64":
		default:
			t.Errorf("%s needs %s", name, library)
		}
	}
}

// TestInstalled: the archive of this machine runs where there is neither Go nor g++.
func TestInstalled(t *testing.T) {
	archive := archives(t, runtime.GOARCH)[0]
	driver, err := gputest.Build()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	nccl, tools := filepath.Join(dir, "libnccl.so.2"), filepath.Join(dir, "tools")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-O1", "-o", nccl, "../../executor/nccl/testdata/standin.c",
		"-lpthread", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	errs := []error{os.Mkdir(tools, 0o755)}
	for _, name := range []string{"sh", "grep"} { // all that is on PATH
		path, err := exec.LookPath(name)
		errs = append(errs, err, os.Symlink(path, filepath.Join(tools, name)))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/packages",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(e *testscript.Env) error {
			debs, _ := filepath.Glob(filepath.Join(filepath.Dir(archive), "mscclc_*_"+runtime.GOARCH+".deb"))
			if len(debs) == 0 {
				return errors.New("there is no .deb beside " + archive)
			}
			for name, value := range map[string]string{"ARCHIVE": archive, "TOOLS": tools, "NCCL": nccl, "DRIVER": driver,
				"HOME": filepath.Join(e.WorkDir, "home"), "DEB": debs[0]} {
				e.Setenv(name, value)
			}
			return nil
		},
	})
}

package runtime

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// libraries builds the libraries once for all tests.
var libraries = sync.OnceValues(Cached)

// The libraries need the C library only, have no constructors, and export functions of NCCL only.
func TestLibraries(t *testing.T) {
	dir, err := libraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{PreloadLibrary, NCCLLibrary} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := elf.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			checkLibrary(t, f)
		})
	}
}

func checkLibrary(t *testing.T, f *elf.File) {
	needed, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range needed {
		if !strings.HasPrefix(name, "libc.") && !strings.HasPrefix(name, "libdl.") && !strings.HasPrefix(name, "libpthread.") {
			t.Errorf("the library needs %s", name)
		}
	}
	// The C runtime has one constructor and one destructor of its own. Ours has a destructor, which writes MSCCLC_STATS.
	for section, most := range map[string]uint64{".init_array": 8, ".fini_array": 16, ".ctors": 0} {
		if s := f.Section(section); s != nil && s.Size > most {
			t.Errorf("%s has %d entries", section, s.Size/8)
		}
	}
	// A process that opens the library late has about 1 KiB of static memory of threads left for all such libraries.
	for _, p := range f.Progs {
		if p.Type == elf.PT_TLS && p.Memsz > 128 {
			t.Errorf("each thread has %d bytes of the library", p.Memsz)
		}
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && !strings.HasPrefix(strings.TrimPrefix(s.Name, "p"), "nccl") && s.Name != "mscclc_forwards" {
			t.Errorf("the library exports %s", s.Name)
		}
	}
}

// A build that was killed leaves its folder, which a later one removes: after a day, since it may still run.
func TestStale(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	for name, age := range map[string]time.Duration{"build1": 25 * time.Hour, "build2": time.Hour, "0123abc": 99 * time.Hour} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(at, "objects"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(at, now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	removeStale(dir, now)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "0123abc" || filepath.Base(left[1]) != "build2" {
		t.Errorf("there are %q: %v", left, err)
	}
}

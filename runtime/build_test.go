package runtime

import (
	"debug/elf"
	"path/filepath"
	"strings"
	"testing"
)

// The library needs the C library only, has no constructors, and exports nothing.
func TestLibrary(t *testing.T) {
	dir := t.TempDir()
	if err := Build(dir); err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(filepath.Join(dir, EngineLibrary))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	needed, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range needed {
		if !strings.HasPrefix(name, "libc.") && !strings.HasPrefix(name, "libdl.") && !strings.HasPrefix(name, "libpthread.") {
			t.Errorf("the library needs %s", name)
		}
	}
	// The C runtime has one constructor and one destructor of its own.
	for _, section := range []string{".init_array", ".fini_array"} {
		if s := f.Section(section); s != nil && s.Size > 8 {
			t.Errorf("%s has %d entries", section, s.Size/8)
		}
	}
	if s := f.Section(".ctors"); s != nil {
		t.Error("the library has constructors")
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			t.Errorf("the library exports %s", s.Name)
		}
	}
}

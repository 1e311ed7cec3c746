package runtime_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	library "mscclc/runtime"
)

// TestInterfaceABI: the library exports the functions of its header and no others, and needs the C library only. Their
// names, and the header's sizes and numbers, are those of a golden file. A change of that file that is no addition
// needs a new MSCCLC_ABI.
func TestInterfaceABI(t *testing.T) {
	dir, err := interfaceLibrary()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(filepath.Join(dir, library.CLibrary))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	needed, err := f.ImportedLibraries()
	// The dynamic linker is part of the C library, and has what finds variables of threads.
	foreign := func(name string) bool {
		return !strings.HasPrefix(name, "libc.") && !strings.HasPrefix(name, "ld-linux")
	}
	if err != nil || slices.ContainsFunc(needed, foreign) {
		t.Errorf("the library needs %q: %v", needed, err)
	}
	if s := f.Section(".init_array"); s != nil && s.Size > 8 {
		t.Errorf("the library has %d constructors, and the C runtime has one", s.Size/8)
	}
	// Programs open the library late, when static memory of threads may be used up.
	flags, err := f.DynValue(elf.DT_FLAGS)
	if err != nil || len(flags) != 1 || elf.DynFlag(flags[0])&elf.DF_STATIC_TLS != 0 {
		t.Errorf("the library has flags %v: %v", flags, err)
	}
	exports := exportsOf(t, f)
	if declared := declaredFunctions(t); !slices.Equal(exports, declared) {
		t.Errorf("the library exports %q, and the header has %q", exports, declared)
	}
	program := filepath.Join(t.TempDir(), "abi")
	if err := gcc("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"+filepath.Join(dir, "include"),
		"testdata/capi_abi.c", "-L"+dir, "-lmscclc", "-Wl,-rpath,"+dir, "-o", program); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	got, golden := string(out)+strings.Join(exports, "\n")+"\n", "testdata/capi_abi.golden"
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != got {
		t.Errorf("the interface is another than %s (MSCCLC_UPDATE=1 rewrites it): %v\n%s", golden, err, got)
	}
}

// exportsOf returns the names that a library exports, in order.
func exportsOf(t *testing.T, f *elf.File) (names []string) {
	t.Helper()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// declaredFunctions returns the functions that mscclc.h declares, in order.
func declaredFunctions(t *testing.T) (names []string) {
	t.Helper()
	text, err := library.Sources.ReadFile(library.Header)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^[a-z][a-z_ ]*[ *](mscclc_\w+)\(`).FindAllSubmatch(text, -1) {
		names = append(names, string(m[1]))
	}
	slices.Sort(names)
	return names
}

// TestHeader compiles mscclc.h as C and C++, and holds its lines.
func TestHeader(t *testing.T) {
	common := []string{"-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", library.Header}
	for _, language := range [][]string{{"-x", "c", "-std=c11"}, {"-x", "c++", "-std=c++17"}} {
		if err := gcc(append(language, common...)...); err != nil {
			t.Errorf("%v: %v", language, err)
		}
	}
	text, err := library.Sources.ReadFile(library.Header)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if len(line) > 120 {
			t.Errorf("%s:%d has %d columns", library.Header, i+1, len(line))
		}
	}
}

// TestExampleC builds examples/c by gcc, and runs it on the CPU in four processes.
func TestExampleC(t *testing.T) {
	dir, err := interfaceLibrary()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "collectives")
	if err := gcc("-Wall", "-Wextra", "-Werror", "-I"+filepath.Join(dir, "include"), "../examples/c/collectives.c", "-L"+dir,
		"-lmscclc", "-Wl,-rpath,"+dir, "-o", program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, namedBundle(t, 8, interfacePrograms, 4))
	cmd.Env = append(os.Environ(), "MSCCLC_LIBCUDA=/nowhere/libcuda.so")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"both_ways: 4000 elements, 0 wrong", "halo: 2000 elements, 0 wrong",
		"a2av: 10000 elements, 0 wrong", "allreduce: 1000 elements, 0 wrong", "all is right"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %q is not in\n%s", err, want, out)
		}
	}
}

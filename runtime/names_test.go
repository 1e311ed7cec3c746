package runtime_test

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	library "mscclc/runtime"
)

// A listed is a function of NCCL in src/front/names.h, with the release 2.N that it came with.
type listed struct {
	ours  bool
	since int
}

// names reads src/front/names.h.
func names(t *testing.T) map[string]listed {
	t.Helper()
	text, err := library.Sources.ReadFile("src/front/names.h")
	if err != nil {
		t.Fatal(err)
	}
	ours, rest, found := bytes.Cut(text, []byte("#define NAMES_REST"))
	if !found {
		t.Fatal("the list has one part")
	}
	all := map[string]listed{}
	for i, part := range [][]byte{ours, rest} {
		for _, m := range regexp.MustCompile(`X\((nccl\w+), (\d+)\)`).FindAllSubmatch(part, -1) {
			since, _ := strconv.Atoi(string(m[2]))
			if _, twice := all[string(m[1])]; twice {
				t.Errorf("%s is listed twice", m[1])
			}
			all[string(m[1])] = listed{ours: i == 0, since: since}
		}
	}
	return all
}

// exported returns the functions of NCCL that a library exports.
func exported(t *testing.T, file string) map[string]bool {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			all[s.Name] = true
		}
	}
	return all
}

// TestNames: the library in NCCL's place exports all listed functions, by both names, and the one before NCCL exports
// those that it has itself, so that all others go to NCCL.
func TestNames(t *testing.T) {
	dir, err := library.Cached()
	if err != nil {
		t.Fatal(err)
	}
	before := exported(t, filepath.Join(dir, library.PreloadLibrary))
	instead := exported(t, filepath.Join(dir, library.NCCLLibrary))
	all := names(t)
	for name, l := range all {
		if !instead[name] || !instead["p"+name] {
			t.Errorf("libnccl.so.2 lacks %s or p%s", name, name)
		}
		if before[name] != l.ours || before["p"+name] {
			t.Errorf("the preloaded library has %s: %v, %v", name, before[name], before["p"+name])
		}
	}
	for name := range instead {
		if _, ok := all[strings.TrimPrefix(name, "p")]; !ok && strings.Contains(name, "nccl") {
			t.Errorf("%s is not listed", name)
		}
	}
}

// TestNamesHeader compares the list with the headers of NCCL in MSCCLC_NCCL_H, which are separated by colons: each
// function is listed, and came with the header's release or before.
func TestNamesHeader(t *testing.T) {
	files := os.Getenv("MSCCLC_NCCL_H")
	if files == "" {
		t.Skip("MSCCLC_NCCL_H names no header of NCCL: the list is compared with none")
	}
	all := names(t)
	for _, file := range filepath.SplitList(files) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range headerFaults(string(text), all) {
			t.Errorf("%s: %s", file, fault)
		}
	}
}

// headerFaults says what of a header the list does not have.
func headerFaults(text string, all map[string]listed) (faults []string) {
	release := -1
	if m := regexp.MustCompile(`#define\s+NCCL_MINOR\s+(\d+)`).FindStringSubmatch(text); m != nil {
		release, _ = strconv.Atoi(m[1])
	}
	text = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|\n\s*#[^\n]*`).ReplaceAllString(text, "\n")
	declared := regexp.MustCompile(`[\w*]\s+\**(p?nccl[A-Z]\w*)\s*\([^;{]*\)\s*;`)
	for _, m := range declared.FindAllStringSubmatch(text, -1) {
		l, ok := all[strings.TrimPrefix(m[1], "p")]
		switch {
		case !ok:
			faults = append(faults, m[1]+" is not in src/front/names.h")
		case release >= 0 && l.since > release:
			faults = append(faults, m[1]+" came with 2."+strconv.Itoa(release)+" or before, and not with 2."+strconv.Itoa(l.since))
		}
	}
	if len(declared.FindAllString(text, -1)) == 0 {
		faults = append(faults, "no function of NCCL is declared")
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// TestNamesFaults: what TestNamesHeader finds in headers.
func TestNamesFaults(t *testing.T) {
	all := map[string]listed{"ncclSend": {since: 7}, "ncclGather": {since: 28}}
	for text, want := range map[string]string{
		"#define NCCL_MINOR 28\nncclResult_t  ncclSend(const void* a,\n  int b);\nncclResult_t pncclGather();": "",
		"#define NCCL_MINOR 27\nncclResult_t ncclGather();":                                                    "ncclGather came with 2.27 or before, and not with 2.28",
		"/* ncclSend(). */ const char* ncclNew(int a);":                                                        "ncclNew is not in src/front/names.h",
		"typedef int ncclResult_t;":                                                                            "no function of NCCL is declared",
	} {
		if got := strings.Join(headerFaults(text, all), "; "); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

package irtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The kinds of data: MSCCL-IR, and execution plans of MSCCL++.
const (
	XML   = "msccl-xml"
	Plans = "mscclpp-plans"
)

// Root returns the folder of the repository, which holds the working folder of a test.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		} else if dir == filepath.Dir(dir) {
			break
		}
	}
	t.Fatal("these tests run in the repository, and here is none: ", err)
	return ""
}

// Own returns the folder of the repository's own programs of a kind.
func Own(t testing.TB, kind string) string {
	t.Helper()
	return filepath.Join(Root(t), "testdata", "own", kind)
}

// others returns the folder of programs of a kind that other compilers wrote, which is no part of the repository. It is
// where MSCCLC_DATA says, or beside the clone, and may not be there.
func others(t testing.TB, kind string) (dir string, there bool) {
	t.Helper()
	data := os.Getenv("MSCCLC_DATA")
	if data == "" {
		dir = filepath.Join(Root(t), "..", "shared", "data", kind)
	} else {
		dir = filepath.Join(data, kind)
	}
	_, err := os.Stat(dir)
	if err != nil && data != "" {
		t.Fatalf("MSCCLC_DATA is set: %v", err)
	}
	return dir, err == nil
}

// Others returns the folder of programs of a kind that other compilers wrote, and skips the test where there is none.
func Others(t testing.TB, kind string) string {
	t.Helper()
	dir, there := others(t, kind)
	if !there {
		t.Skipf("no folder %s: programs of other compilers are not tested", dir)
	}
	return dir
}

// Each runs a test on the repository's own programs of a kind, and on those of other compilers, which skips where they
// are not there.
func Each(t *testing.T, kind string, test func(t *testing.T, dir string)) {
	t.Run("own", func(t *testing.T) { test(t, Own(t, kind)) })
	t.Run("others", func(t *testing.T) { test(t, Others(t, kind)) })
}

// Files returns the files of a kind: the repository's own, and those of other compilers that are there.
func Files(t testing.TB, kind string) []string {
	t.Helper()
	ending := map[string]string{XML: "*.xml", Plans: "*.json"}[kind]
	files, err := filepath.Glob(filepath.Join(Own(t, kind), ending))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d own programs in %s: %v", len(files), Own(t, kind), err)
	}
	if dir, there := others(t, kind); there {
		more, _ := filepath.Glob(filepath.Join(dir, ending))
		return append(files, more...)
	}
	t.Logf("no programs of other compilers: only the repository's own, %d", len(files))
	return files
}

// An Expected is a line of a folder's expected.tsv.
type Expected struct {
	File    string // its name
	Steps   int
	Verdict string // ok, or codes separated by commas
}

// Table reads the expected.tsv of a folder of XML.
func Table(t testing.TB, dir string) (list []Expected) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "expected.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		f := strings.Split(line, "\t")
		steps, err := strconv.Atoi(f[1])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Expected{f[0], steps, f[2]})
	}
	if len(list) < 10 {
		t.Fatalf("%s has %d files", dir, len(list))
	}
	return list
}

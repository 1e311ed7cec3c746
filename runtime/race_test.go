package runtime_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/bundle"
	library "mscclc/runtime"
)

// TestRaces runs the ranks as threads under the thread sanitizer, which sees the engine and not the mock driver.
func TestRaces(t *testing.T) {
	sanitize := "-fsanitize=thread"
	file := program(t, "engine", func() ([]string, error) { return compiled("races", sanitize, "-g") }, sanitize,
		"testdata/ranks.cc", "-lstdc++", "-lpthread")
	b := write(t, bundle.Encode(makeBundle(t, engineTypes, 2, 2)))
	engine(t, file, b, "threads", 2, strings.Fields("mixes streams captures watched abortgraph"),
		races(t))
}

// races is the environment that has the thread sanitizer leave out the mock driver.
func races(t *testing.T) string {
	t.Helper()
	suppressed := filepath.Join(t.TempDir(), "suppressed")
	if err := os.WriteFile(suppressed, []byte("race:/mscclc/standin/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "TSAN_OPTIONS=halt_on_error=1 suppressions=" + suppressed
}

// TestWholeRaces runs the front and the engine together under the thread sanitizer, with ranks as threads.
func TestWholeRaces(t *testing.T) {
	dir, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	sanitize := []string{"-fsanitize=thread", "-O1", "-g", "-DMSCCLC_FORWARDS"}
	every := func(string) bool { return true }
	objects, err := library.Compile(dir, filepath.Join(scratch, "wholeraces"), every, sanitize...)
	if err != nil {
		t.Fatal(err)
	}
	s := site{how: "alone", ranks: 4, threads: true, bundle: wholeBundle(t, 2, 4), env: []string{races(t)},
		program: filepath.Join(t.TempDir(), "races")}
	objects = append(append(objects, clientUnits()...), "-lstdc++")
	if err := library.Link(s.program, objects, append(sanitize, "-std=c++17", "-fno-threadsafe-statics")...); err != nil {
		t.Fatal(err)
	}
	s.do(t, sharedCalls...).well(t)
}

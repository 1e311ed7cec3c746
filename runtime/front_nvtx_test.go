package runtime_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	library "mscclc/runtime"
)

// TestFrontNVTX: native calls are ranges of a profiler that NVTX injects, also in groups. A library that is no
// profiler, or is missing, changes nothing.
func TestFrontNVTX(t *testing.T) {
	dir := t.TempDir()
	profiler, log := filepath.Join(dir, "profiler.so"), filepath.Join(dir, "log")
	if err := library.Link(profiler, []string{"testdata/nvtx.cc"}, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC",
		"-shared"); err != nil {
		t.Fatal(err)
	}
	commands := []string{"init 0", "allreduce 0 1000 7 0 0 0 v", "start", "allgather 0 50 9 0 0 0 v", "end", "reduce 0 10 10 0 0 0",
		"sync", "destroy 0"}
	for path, want := range map[string]string{
		profiler:       "mscclc 0\nncclAllReduce 4000\npop 1\nncclAllGather 200\npop 1\n",
		"/nowhere.so":  "",
		"libc.so.6":    "",
		"/etc/passwd ": "",
	} {
		os.Remove(log)
		s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2), env: []string{"NVTX_LOG=" + log},
			of: func(rank int) []string { return []string{"NVTX_INJECTION64_PATH=" + strings.Repeat(path, 1-rank)} }}
		s.do(t, commands...).well(t)
		if text, _ := os.ReadFile(log); string(text) != want {
			t.Errorf("%s: ranges are\n%s", path, text)
		}
	}
}

package runtime_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	library "mscclc/runtime"
)

// A site is where programs of NCCL run: with the library before the mock NCCL (preload), in its place (forward), both,
// or with no NCCL at all (alone).
type site struct {
	how     string
	mock    bool // of the engine: teams launch nothing
	ranks   int
	threads bool // ranks are threads of one process
	each    int  // or the number of ranks that are threads of each
	bundle  string
	env     []string
	late    bool                    // memory is made after the first call, as jobs have it; else at init
	of      func(rank int) []string // more of the environment
	program string                  // instead of the client
	library string                  // the folder of the libraries, instead of the usual
	// on makes the command of a rank that runs elsewhere.
	on func(ctx context.Context, rank int, program string, args ...string) *exec.Cmd
}

// A run is what came of a program: what the mocks noted of each rank, in order, and what the processes printed.
type run struct {
	notes  [][]string
	output string
	failed []error // by process
	stats  string
}

// isFront reports whether a unit is of the front, or one that it shares with the engine.
func isFront(name string) bool {
	return library.IsFront(name) && !library.IsEngine(name) || name == systemCalls || name == "transport/cards.cc"
}

// clientUnits returns the sources of the test client.
func clientUnits() []string {
	const of = "testdata/client/"
	return []string{of + "client.cc", of + "data.cc", of + "windows.cc", of + "gpu.cc"}
}

// parts are what tests of the front compile: the mock NCCL, the client, and the libraries with a mock engine.
var parts = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(scratch, "front")
	tree, err := sources()
	if err != nil {
		return "", err
	}
	for _, sub := range []string{"real", "mock", "mock/nccl"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return "", err
		}
	}
	common := []string{"-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"}
	real := filepath.Join(dir, "real")
	if err := library.Link(filepath.Join(real, "libnccl.so.2"), []string{"testdata/standin_nccl.cc"},
		append(common, "-fPIC", "-shared", "-Wl,-soname,libnccl.so.2")...); err != nil {
		return "", err
	}
	units, err := unitObjects(filepath.Join(dir, "units"), clientUnits(), common...)
	if err != nil {
		return "", err
	}
	units = append(units, filepath.Join(real, "libnccl.so.2"), "-lstdc++", "-lm")
	if err := library.Link(filepath.Join(dir, "client"), units,
		append(common, "-Wl,--export-dynamic-symbol=accept4", "-Wl,--export-dynamic-symbol=rename")...); err != nil {
		return "", err
	}
	objects, err := library.Compile(tree, filepath.Join(dir, "objects"), isFront, warnings...)
	if err != nil {
		return "", err
	}
	for name, all := range map[string][]string{library.PreloadLibrary: objects, library.NCCLLibrary: nil} {
		if all == nil {
			if all, err = library.Forwards(tree, filepath.Join(dir, "forwards"), objects, []string{"ncclOfTomorrow"}); err != nil {
				return "", err
			}
		}
		if err := library.Link(filepath.Join(dir, "mock", name), append(all, "testdata/fake_engine.cc"),
			append(common, "-fPIC", "-fvisibility=hidden", "-shared", "-Wl,-soname,"+filepath.Base(name))...); err != nil {
			return "", err
		}
	}
	return dir, nil
})

// environment returns the environment of the processes of a site, which work in folder dir.
func (s *site) environment(t *testing.T, dir string) []string {
	t.Helper()
	driver := mockDriver(t)
	made, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	ours := filepath.Join(made, "mock")
	if s.library != "" {
		ours = s.library
	} else if !s.mock {
		if ours, err = library.Cached(); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "MSCCLC_STANDIN_GPUS=8", "MSCCLC_STANDIN_NAME="+device,
		"MSCCLC_STANDIN_WARPS=1", "MSCCLC_FAKE_DIR="+dir, "MSCCLC_FAKE_LOG="+filepath.Join(dir, "log"),
		"MSCCLC_STATS="+filepath.Join(dir, "stats"), "MSCCLC_BUNDLE="+s.bundle, "WORLD="+strconv.Itoa(s.ranks))
	env = append(env, driver...)
	path, nccl := filepath.Join(made, "real"), filepath.Join(made, "real", "libnccl.so.2")
	switch s.how {
	case "preload":
		env = append(env, "LD_PRELOAD="+filepath.Join(ours, library.PreloadLibrary))
	case "both":
		env = append(env, "LD_PRELOAD="+filepath.Join(ours, library.PreloadLibrary), "MSCCLC_NCCL="+nccl)
		path = filepath.Join(ours, "nccl")
	case "forward":
		env = append(env, "MSCCLC_NCCL="+nccl)
		path = filepath.Join(ours, "nccl")
	case "alone":
		env = append(env, "MSCCLC_NCCL=none")
		path = filepath.Join(ours, "nccl")
	}
	if !s.late {
		env = append(env, "MSCCLC_ARENA_AT=init")
	}
	return append(append(env, "LD_LIBRARY_PATH="+path), s.env...)
}

// do runs the client's commands in all ranks.
func (s *site) do(t *testing.T, commands ...string) *run {
	t.Helper()
	dir := t.TempDir()
	env := s.environment(t, dir)
	made, _ := parts()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var output bytes.Buffer
	var mu sync.Mutex
	processes, each := s.ranks, s.each
	if s.threads {
		each = s.ranks
	}
	if each > 0 {
		processes = s.ranks / each
		env = append(env, fmt.Sprint("THREADS=", each))
	}
	r := &run{notes: make([][]string, s.ranks), failed: make([]error, processes)}
	var wait sync.WaitGroup
	for i := range processes {
		wait.Go(func() {
			program := cmp.Or(s.program, filepath.Join(made, "client"))
			cmd := exec.CommandContext(ctx, program, commands...)
			if s.on != nil {
				cmd = s.on(ctx, i, program, commands...)
			}
			cmd.Env = append(env[:len(env):len(env)], "RANK="+strconv.Itoa(i))
			if s.of != nil {
				cmd.Env = append(cmd.Env, s.of(i)...)
			}
			out, err := cmd.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			output.Write(out)
			r.failed[i] = err
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		t.Fatalf("the program hangs\n%s", &output)
	}
	r.output = output.String()
	r.stats = stats(dir)
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	for line := range strings.Lines(string(log)) {
		var rank int
		if _, err := fmt.Sscan(line, &rank); err == nil && rank >= 0 && rank < s.ranks {
			_, note, _ := strings.Cut(strings.TrimSpace(line), " ")
			r.notes[rank] = append(r.notes[rank], note)
		}
	}
	return r
}

// stats returns the counts that the processes of a site wrote, which worked in folder dir.
func stats(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "stats"))
	if err != nil {
		return "" // there were no calls
	}
	return string(text)
}

// well fails the test where a process has failed.
func (r *run) well(t *testing.T) *run {
	t.Helper()
	for i, err := range r.failed {
		if err != nil {
			t.Fatalf("process %d: %v\n%s", i, err, r.output)
		}
	}
	return r
}

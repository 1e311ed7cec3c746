package runtime_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	library "mscclc/runtime"
)

// TestRaces runs the ranks as threads under the thread sanitizer, which sees the engine and not the mock driver.
func TestRaces(t *testing.T) {
	covering.ForCI(t)
	t.Parallel()
	b := write(t, bundle.Encode(makeBundle(t, engineTypes, 2, 2)))
	parts := strings.Fields("mixes streams captures watched abortgraph")
	engine(t, engineWith(t, racingObjects, racing), b, "threads", 2, parts, races(t))
}

// TestRacesNodes is TestRaces on two nodes, over the engine of tests.
func TestRacesNodes(t *testing.T) {
	covering.ForCI(t)
	t.Parallel()
	b := nodesFile(t, engineTypes, 2, "2")
	parts := strings.Fields("streams captures abort")
	engine(t, engineWith(t, racingObjects, racing), b, "threads", 2, parts, races(t), "ENGINE_NODE=1",
		"MSCCLC_NET=test:races,seed=1,delay=20000")
}

// TestSanitizedNodes runs ranks on two nodes under the address sanitizer, over the engine of tests.
func TestSanitizedNodes(t *testing.T) {
	covering.ForCI(t)
	t.Parallel()
	file := engineWith(t, sanitizedObjects, sanitize, "-fno-sanitize-recover=all")
	parts := strings.Fields("every captures abort lives")
	engine(t, file, nodesFile(t, engineTypes, 4, "2"), "threads", 4, parts, "ENGINE_NODE=2", "LIVES=10",
		"MSCCLC_NET=test:sanitized,seed=2,delay=20000", "LSAN_OPTIONS=suppressions="+withoutMock(t, "leak"))
}

// races returns the environment that has the thread sanitizer leave out the mock driver.
func races(t *testing.T) string {
	t.Helper()
	return "TSAN_OPTIONS=halt_on_error=1 suppressions=" + withoutMock(t, "race")
}

// withoutMock returns a file that has a sanitizer leave out what it finds of a kind in the mock driver, and races in
// UCX, which is built without the thread sanitizer.
func withoutMock(t *testing.T, kind string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "suppressed")
	text := kind + ":/mscclc/standin/\n"
	for _, of := range []string{"libucs", "libucp", "libuct", "libucm"} {
		if kind == "race" {
			text += kind + ":" + of + ".so\n"
		}
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestWholeRaces runs the front and the engine together under the thread sanitizer: with ranks as threads on one node,
// and as processes on two, each of which has a proxy.
func TestWholeRaces(t *testing.T) {
	covering.ForCI(t)
	t.Parallel()
	dir, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	sanitize := []string{racing, "-O1", "-g", "-DMSCCLC_FORWARDS"}
	objects, err := library.Compile(dir, filepath.Join(scratch, "wholeraces"), library.IsFront, sanitize...)
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
	t.Run("nodes", func(t *testing.T) {
		needUCX(t)
		s.threads, s.bundle = false, nodesFile(t, []data.DType{data.F32, data.I64}, 4, "2")
		net, of := onNodes("a", "a", "b", "b")
		s.env, s.of = append(s.env, net...), of
		s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "allreduce 0 70001 4 0 0 1 vu", "allgather 0 30000 7 0 0 0 vi",
			"capture 0", "allreduce 0 1000 7 0 0 0 v", "alltoall 0 9000 7 0 0 2 v", "endcapture 0 5", "sync",
			"destroy 0").well(t)
	})
}

package runtime_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/internal/covering"
	library "mscclc/runtime"
)

// What a communicator's agreement leaves in the notes.
var (
	agreed = []string{"engine join"}
	opened = []string{"engine window", "engine use"}
)

func notes(parts ...any) (list []string) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			list = append(list, p)
		case []string:
			list = append(list, p...)
		}
	}
	return list
}

// TestFrontCalls: call sequences of PyTorch, JAX and nccl-tests reach NCCL or the engine, in this order.
func TestFrontCalls(t *testing.T) {
	const initRank, native, far = "nccl CommInitRankConfig", "engine AllReduce", "allreduce 0 4000000 7 0 0 0"
	const window = "nccl CommWindowRegister"
	checkSequences(t, []sequence{
		{"nccl-tests", site{ranks: 2}, []string{"init 0", "allreduce 0 10 7 0 0 0", far, "destroy 0"},
			notes(initRank, agreed, native, "engine before", "nccl AllReduce", "engine after", "engine before", "engine end", "nccl CommDestroy")},
		{"nccl-tests in one process", site{ranks: 1}, []string{"initall 2", "start", "allreduce 0 10 7 0 0 0", "allreduce 1 10 7 0 0 0", "end"},
			notes(initRank, agreed, native)},
		{"ProcessGroupNCCL", site{ranks: 2}, []string{"init 0 1 0", "start", "allreduce 0 10 9 4 0 0", "end", "wait 0",
			"allgather 0 10 9 0 0 0", "start", "send 0 10 9 0 0 0", "recv 0 10 9 0 0 0", "end", "abort 0"},
			notes(initRank, agreed, native, "engine AllGather", "nccl (group) Send", "nccl (group) Recv", "engine before", "engine before",
				"engine after", "engine after", "engine before", "engine abort", "engine before", "engine end", "nccl CommAbort")},
		{"ProcessGroupNCCL with a device", site{ranks: 2}, []string{"init 0 0 0", "wait 0", "start", "allreduce 0 10 7 0 0 0", "end", "allreduce 0 10 7 0 0 0"},
			notes(initRank, agreed, native, native)},
		{"the first call is captured", site{ranks: 2}, []string{"init 0 0 0", "wait 0", "capture 0", "allreduce 0 10 7 0 0 0", "endcapture 0 1", "allreduce 0 10 7 0 0 0"},
			notes(initRank, agreed, native, native)},
		{"XLA", site{ranks: 2}, []string{"init 0 0 8", "wait 0", "start", "send 0 10 7 0 0 0", "allreduce 0 10 7 0 0 0", "end", "split 0 1 1",
			"wait 0", "wait 1", "allreduce 1 10 7 0 0 0", "finalize 0", "destroy 0"},
			notes(initRank, agreed, "nccl (group) Send", "engine before", "engine after", native, "nccl CommSplit", agreed, native,
				"nccl CommFinalize", "engine before", "engine end", "nccl CommDestroy")},
		{"a group of both kinds", site{ranks: 2}, []string{"init 0", "start", "allreduce 0 10 7 0 0 0", far, "end"},
			notes(initRank, agreed, "nccl (group) AllReduce", "engine before", "engine after", native)},
		{"other operations", site{ranks: 2}, []string{"init 0", "allreduce 0 10 7 5 0 0", "expect 4", "allreduce 0 10 12 0 0 0", "expect 4", "broadcast 0 10 7 0 2 0"},
			notes(initRank, agreed, "engine before", "nccl AllReduce", "engine after", "engine before", "nccl AllReduce", "engine before", "nccl Broadcast")},
		{"suspended", site{ranks: 2}, []string{"init 0", "suspend 0", "allreduce 0 10 7 0 0 0", "resume 0", "allreduce 0 10 7 0 0 0", "revoke 0", "allreduce 0 10 7 0 0 0"},
			notes(initRank, agreed, "nccl CommSuspend", "nccl AllReduce", "nccl CommResume", native, "engine before", "engine abort", "nccl CommRevoke", "nccl AllReduce")},
		{"no bundle", site{ranks: 2, bundle: "none"}, []string{"init 0", "allreduce 0 10 7 0 0 0", "destroy 0"},
			notes(initRank, "nccl AllReduce", "nccl CommDestroy")},
		{"a rank that cannot", site{ranks: 3, env: []string{"MSCCLC_FAKE_UNABLE=1"}}, []string{"init 0", "allreduce 0 10 7 0 0 0"},
			notes(initRank, "engine end", "nccl AllReduce")},
		{"windows", site{ranks: 2, env: []string{"MSCCLC_FAKE_WINDOWS=1"}}, []string{"init 0", "memory 0 plain 1000",
			"window 0 0 0 0 1000", "unwindow 0 0", "start", "window 0 0 0 0 500", "window 1 0 0 500 500", "allreduce 0 10 7 0 0 0", "end", "window 2 0 0 0 1000 0"},
			notes(initRank, agreed, window, opened, "engine drop", "nccl CommWindowDeregister", window, window, native, opened, opened,
				window)},
		{"windows that no rule is for", site{ranks: 2}, []string{"init 0", "memory 0 plain 1000", "window 0 0 0 0 1000"},
			notes(initRank, agreed, window)},
		{"windows before the first call", site{ranks: 2, env: []string{"MSCCLC_FAKE_WINDOWS=1"}}, []string{"init 0 0 0", "wait 0",
			"memory 0 plain 1000", "window 0 0 0 0 1000"}, notes(initRank, agreed, window, opened)},
		{"a process that accepts late", site{ranks: 2, env: []string{"CLIENT_ACCEPT_MS=300"}}, []string{"init 0",
			"allreduce 0 10 7 0 0 0", "@1 destroy 0", "@0 sleep 1000", "@0 destroy 0"},
			notes(initRank, agreed, native, "engine before", "engine end", "nccl CommDestroy")},
		{"an unknown function", site{ranks: 2}, []string{"init 0", "unknown", "putsignal"}, notes(initRank, agreed)},
	})
}

// racingFront makes the client with the front under the thread sanitizer, and a mock engine. Ranks are threads. The
// front stands before the mock NCCL, or there is none (alone).
func racingFront(t *testing.T, how string, env ...string) site {
	t.Helper()
	dir, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	made, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	sanitize := []string{"-fsanitize=thread", "-O1", "-g"}
	before := []string{"-Wl,--no-as-needed", filepath.Join(made, "real", "libnccl.so.2")}
	if how == "alone" {
		sanitize, before = append(sanitize, "-DMSCCLC_FORWARDS"), nil
	}
	objects, err := library.Compile(dir, filepath.Join(scratch, "frontraces"+how), isFront, sanitize...)
	if err != nil {
		t.Fatal(err)
	}
	s := site{how: how, mock: true, ranks: 4, threads: true, env: env, program: filepath.Join(t.TempDir(), "races"),
		bundle: filepath.Join(dir, "runtime", "src", "team", "engine.h")}
	objects = append(append(objects, clientUnits()...), "testdata/fake_engine.cc", "-lstdc++")
	if err := library.Link(s.program, append(objects, before...), append(sanitize, "-std=c++17", "-fno-threadsafe-statics")...); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFrontRaces has ranks make, use, split and end communicators.
func TestFrontRaces(t *testing.T) {
	covering.ForCI(t)
	t.Parallel()
	s := racingFront(t, "alone", "MSCCLC_FAKE_WINDOWS=1")
	var commands []string
	for i := range 4 {
		commands = append(commands, fmt.Sprint("init 0 1 0 ", i), fmt.Sprint("init 1 1 0 b", i), "allreduce 0 1000 7 0 0 0",
			"memory 0 plain 1000", "start", "window 0 0 0 0 100", "window 1 1 0 0 100", "window 2 0 0 500 100", "end",
			"start", "allreduce 1 10 7 0 0 0", "allreduce 0 10 7 0 0 0", "end", "unwindow 0 0", "free 0",
			"split 0 2 2", "allreduce 2 10 7 0 0 0", "sync",
			"destroy 2", "abort 1", "destroy 0")
	}
	s.do(t, commands...).well(t)
}

// TestFrontLearnsRaces has ranks learn.
func TestFrontLearnsRaces(t *testing.T) {
	covering.ForCI(t)
	t.Parallel()
	s := racingFront(t, "linked", "MSCCLC_FAKE_CANDIDATES=1", "MSCCLC_FAKE_SLOW_US=200", "MSCCLC_DEBUG=INFO")
	r := s.do(t, "init 0", "init 1", "repeat 110 allgather 0 1000 7 0 0 0", "repeat 60 allgather 1 1000 7 0 0 0", "destroy 1",
		"repeat 40 broadcast 0 1000 7 0 0 0", "destroy 0").well(t)
	if n := strings.Count(r.output, "learned for ncclAllGather"); n < 4 {
		t.Errorf("%d ranks have learned\n%s", n, r.output)
	}
}

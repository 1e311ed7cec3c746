package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	library "mscclc/runtime"
	"mscclc/selection"
)

// windowBundle writes a bundle whose only rules are for calls between windows: direct programs, or staged ones.
func windowBundle(t *testing.T, direct bool, ranks ...int) string {
	t.Helper()
	upTo := map[ir.Protocol]int64{ir.LL: 4 << 10, ir.LL128: 32 << 10}
	spec := bundle.Spec{Device: device, Ranks: ranks, DTypes: []data.DType{data.F32, data.BF16}}
	for _, n := range ranks {
		for _, r := range bundle.Ladder(n, 4) {
			if !r.Kind.Rooted() {
				r.When, r.UpTo = r.When|bundle.WhenWindows, upTo[r.Protocol]
				if direct {
					r.Placement = selection.Direct
				}
				spec.Rules = append(spec.Rules, r)
			}
		}
	}
	b, err := bundle.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, bundle.Encode(b))
}

// between are calls of all functions in memory 0, at random places of it.
func between(ranks int, bytes int, random *rand.Rand) (calls []string) {
	for i, flags := range []string{"v", "vi", "vu", "vui"} {
		for _, fn := range []string{"allreduce", "allgather", "reducescatter", "alltoall"} {
			if fn == "alltoall" && strings.Contains(flags, "i") {
				continue
			}
			pieces := ranks
			if fn == "allreduce" {
				pieces = 1
			}
			for _, total := range []int{100, 3000, 20000} {
				count := total/pieces + i
				room := bytes - 8*count*pieces - 2048
				calls = append(calls, fmt.Sprintf("%s 0 %d 7 0 0 0 %s 0 %d", fn, count, flags, 4*random.IntN(room/4)), "sync")
			}
		}
	}
	return calls
}

// TestFrontWindows has calls between windows run direct programs: in memory of each kind, as processes and as threads,
// without NCCL and with it. One bundle has staged programs.
func TestFrontWindows(t *testing.T) {
	const bytes = 400000
	random := rand.New(rand.NewPCG(1, 2))
	for i, c := range []site{{how: "alone", ranks: 2}, {how: "preload", ranks: 4}, {how: "alone", ranks: 4, threads: true},
		{how: "forward", ranks: 2, threads: true}} {
		c.bundle = windowBundle(t, i > 0, c.ranks)
		for _, kind := range []string{"plain", "mapped", "parts"} {
			t.Run(fmt.Sprint(c.how, c.ranks, c.threads, kind), func(t *testing.T) {
				commands := []string{"init 0", fmt.Sprint("memory 0 ", kind, " ", bytes), fmt.Sprint("window 0 0 0 0 ", bytes)}
				commands = append(commands, between(c.ranks, bytes, random)...)
				r := c.do(t, append(commands, "unwindow 0 0", "free 0", "destroy 0")...).well(t)
				want := `"function":"ncclCommWindowRegister","native":true,"calls":`
				if strings.Contains(r.stats, `"native":false`) || !strings.Contains(r.stats, want) {
					t.Errorf("calls were: %s\n%s", r.stats, r.output)
				}
			})
		}
	}
}

// The calls of the tests below in memory 0: one that lies in its first 100,000 bytes, and one that goes beyond. Calls
// that no program runs are errors without NCCL.
const inside, beyond = "allreduce 0 1000 7 0 0 0 v 0 ", "allreduce 0 1000 7 0 0 0 - 0 "

// windowLives are what programs do with memory 0 and windows.
var windowLives = []struct {
	name     string
	commands []string
}{
	{"outside", []string{"expect 5", beyond + "0", "window 0 0 0 0 100000", inside + "90000", "sync", "expect 5", beyond + "98000",
		"expect 5", "allreduce 0 1000 7 0 0 0", "expect 5", "broadcast 0 100 7 0 0 0 - 0 0"}},
	{"ended", []string{"window 0 0 0 0 100000", inside + "0", "unwindow 0 0", "expect 5", beyond + "0", "window 0 0 0 0 100000",
		inside + "0"}},
	{"freed", []string{"window 0 0 0 0 100000", inside + "0", "sync", "unwindow 0 0", "free 0", "memory 0 parts 300000",
		"expect 5", beyond + "0", "window 0 0 0 0 100000", inside + "64", "sync"}},
	{"while calls run", []string{"window 0 0 0 0 100000", "@1 sleep 300", inside + "0", "unwindow 0 0", "window 1 0 0 20000 50000",
		"sync", inside + "20000", "@0 sleep 300", inside + "40000", "unwindow 1 0"}},
	{"twice", []string{"window 0 0 0 0 100000", "window 1 0 0 0 100000", inside + "0", "unwindow 0 0", inside + "0", "sync",
		"unwindow 1 0", "expect 5", beyond + "0"}},
	{"overlapping", []string{"window 0 0 0 0 100000", "window 1 0 0 5000 200000", "window 2 0 0 20000 1000", inside + "30000",
		"unwindow 0 0", inside + "5000", "sync", "expect 5", beyond + "4000"}},
	{"a group", []string{"start", "window 0 0 0 0 5000", "window 1 0 0 5000 50000", "end", inside + "500", "sync",
		"start", "unwindow 1 0", "window 2 0 0 5000 6000", "end", inside + "504", "sync"}},
	{"a group with calls", []string{"window 0 0 0 0 100000", "start", inside + "0", "window 1 0 0 100000 100000", "end",
		"allreduce 0 500 7 0 0 0 v 0 100000"}},
	{"not blocking", []string{"destroy 0", "init 0 0 0 late", "wait 0", "window 0 0 0 0 100000", inside + "0", "sync"}},
	{"two communicators", []string{"init 1 1 0 b", "start", "window 0 0 0 0 100000", "window 1 1 0 0 100000",
		"window 2 0 0 100000 1000", "end", inside + "0", "sync", "allreduce 1 100 7 0 0 0 v 0 0", "sync", "destroy 1", inside + "0"}},
	{"a split", []string{"window 0 0 0 0 100000", "split 0 1 1", "expect 5", "allreduce 1 100 7 0 0 0 - 0 0", "window 1 1 0 0 100000",
		"allreduce 1 100 7 0 0 0 v 0 0", "destroy 1"}},
	{"captured", []string{"window 0 0 0 0 100000", "capture 0", inside + "0", "endcapture 0 5", "sync"}},
	{"strange", []string{"strange 0", "window 0 0 0 0 100000 0", "expect 5", beyond + "0", "window 1 0 0 0 100000", inside + "0", "sync"}},
	{"aborted", []string{"window 0 0 0 0 100000", inside + "0", "sync", "abort 0", "init 0 1 0 again"}},
}

// wholeLife has commands of a life between those that look for what it leaves open.
func wholeLife(kind string, life []string) []string {
	begin := []string{"init 0", "init 1", "destroy 1", "files", "memory 0 " + kind + " 300000"}
	return append(append(begin, life...), "sync", "destroy 0", "free 0", "samefiles")
}

// TestFrontWindowLife makes, uses and ends windows. Nothing is left open.
func TestFrontWindowLife(t *testing.T) {
	s := site{how: "alone", ranks: 2, bundle: windowBundle(t, true, 2)}
	for i, c := range windowLives {
		t.Run(c.name, func(t *testing.T) {
			s.do(t, wholeLife([]string{"plain", "mapped", "parts"}[i%3], c.commands)...).well(t)
		})
	}
}

// TestFrontWindowSanitized runs all lives under the address sanitizer, with both kinds of memory.
func TestFrontWindowSanitized(t *testing.T) {
	covering.ForCI(t)
	t.Parallel()
	tree, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	sanitize := []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O0", "-DMSCCLC_FORWARDS"}
	objects, err := library.Compile(tree, filepath.Join(scratch, "windows"), library.IsFront, sanitize...)
	if err != nil {
		t.Fatal(err)
	}
	suppressed := filepath.Join(t.TempDir(), "suppressed")
	if err := os.WriteFile(suppressed, []byte("leak:/mscclc/standin/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := site{how: "alone", ranks: 2, bundle: windowBundle(t, true, 2), program: filepath.Join(t.TempDir(), "windows"),
		env: []string{"LSAN_OPTIONS=print_suppressions=0 suppressions=" + suppressed}}
	objects = append(append(objects, clientUnits()...), "-lstdc++", "-lm")
	if err := library.Link(s.program, objects, append(sanitize, "-std=c++17")...); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"plain", "parts"} {
		var commands []string
		for i, c := range windowLives {
			again := strings.NewReplacer("init 0 1 0 again", fmt.Sprint("init 0 1 0 again", i), "init 0 0 0 late", fmt.Sprint("init 0 0 0 late", i),
				"init 1 1 0 b", fmt.Sprint("init 1 1 0 b", i))
			commands = append(commands, fmt.Sprint("init 0 1 0 ", i), "memory 0 "+kind+" 300000")
			for _, command := range c.commands {
				commands = append(commands, again.Replace(command))
			}
			commands = append(commands, "sync", "destroy 0", "free 0")
		}
		s.do(t, commands...).well(t)
	}
}

// TestFrontWindowOneThread has a thread register windows of four ranks in a group, as nccl-tests -g does.
func TestFrontWindowOneThread(t *testing.T) {
	file := windowBundle(t, true, 4)
	for _, how := range []string{"preload", "alone"} {
		commands := []string{"initall 4"}
		group := func(format string) {
			commands = append(commands, "start")
			for i := range 4 {
				commands = append(commands, strings.ReplaceAll(format, "#", fmt.Sprint(i)))
			}
			commands = append(commands, "end")
		}
		for i := range 4 {
			commands = append(commands, fmt.Sprintf("memory %d %s 100000", i, []string{"plain", "mapped"}[i%2]))
		}
		group("window # # # 0 100000")
		group("allreduce # 3000 7 0 0 # vi # 96")
		group("allgather # 777 7 0 0 # vi # 50000")
		commands = append(commands, "sync", "unwindow 1 1", "destroy 0", "destroy 1", "destroy 2", "destroy 3")
		r := (&site{how: how, ranks: 1, bundle: file}).do(t, commands...).well(t)
		if strings.Contains(r.stats, `"native":false`) || !strings.Contains(r.stats, `"ncclCommWindowRegister","native":true,"calls":4`) {
			t.Errorf("calls were: %s\n%s", r.stats, r.output)
		}
	}
}

// TestFrontWindowKilled has a rank die before it registers: the other one goes on without the window.
func TestFrontWindowKilled(t *testing.T) {
	s := site{how: "alone", ranks: 2, bundle: windowBundle(t, true, 2)}
	r := s.do(t, "init 0", "memory 0 mapped 300000", "kill 1", "window 0 0 0 0 100000", "unwindow 0 0", "abort 0")
	want := "no program uses a window of 100000 bytes of a communicator of 2 ranks: the connection to rank 1 was lost"
	if r.failed[0] != nil || !strings.Contains(r.output, want) {
		t.Errorf("rank 0 ends with %v:\n%s", r.failed[0], r.output)
	}
}

// TestFrontWindowFails has ranks fail to offer or to reach memory: no rank uses the window, and one warning says why.
func TestFrontWindowFails(t *testing.T) {
	file := windowBundle(t, true, 2)
	for _, c := range []struct{ kind, other, fails, want string }{
		{"mapped", "private", "", "the memory of rank 1 was made without handles for files"},
		{"plain", "plain", "cuIpcGetMemHandle:2", "rank 1: it cannot be shared with other processes: "},
		{"plain", "plain", "cuIpcOpenMemHandle_v2:2", "the memory of rank 0: "},
		{"parts", "parts", "cuMemExportToShareableHandle:2", "rank 1: it cannot be exported: "},
		{"parts", "parts", "cuMemAddressReserve:2", "the memory of rank 0: "},
		{"parts", "parts", "cuMemImportFromShareableHandle:2", "the memory of rank 0: "},
		{"parts", "parts", "cuMemMap:5", "the memory of rank 0: "},
		{"parts", "parts", "cuMemSetAccess:5", "the memory of rank 0: "},
		{"parts", "plain", "cuPointerGetAttribute:1", "rank 1: it is not memory of a GPU"},
		{"parts", "plain", "", ""},
	} {
		t.Run(c.kind+c.fails, func(t *testing.T) {
			s := site{how: "alone", ranks: 2, bundle: file, of: func(rank int) []string {
				if rank == 0 || c.fails == "" {
					return nil
				}
				return []string{"MSCCLC_STANDIN_FAIL=" + c.fails}
			}}
			commands := []string{"init 0", "files", "@0 memory 0 " + c.kind + " 300000", "@1 memory 0 " + c.other + " 300000",
				"window 0 0 0 0 250000", "expect 5", beyond + "0", "window 1 0 0 0 250000", "unwindow 0 0", inside + "0", "sync"}
			if c.want == "" {
				commands[5], commands[8] = "expect 0", "sync"
			}
			if c.other == "private" {
				commands = commands[:7]
			}
			r := s.do(t, append(commands, "destroy 0", "free 0", "samefiles")...).well(t)
			want := "no program uses a window of 250000 bytes of a communicator of 2 ranks: " + c.want
			if n := strings.Count(r.output, want); c.want != "" && n != 1 {
				t.Errorf("%d warnings of %q:\n%s", n, c.want, r.output)
			}
			if c.want == "" && r.output != "" {
				t.Errorf("the output is %s", r.output)
			}
		})
	}
}

package runtime_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/executor/gpu/gputest"
)

// onGPU reports whether tests run on a GPU, whose ranks share it, and not on the mock driver.
func onGPU() bool { return gputest.Required("cuda") }

// deviceName returns the name of the machine's GPU.
func deviceName() (string, error) {
	out, err := exec.Command("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").Output()
	name, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(name), err
}

// mostOfGPU is how long TestOneGPU begins cases on a GPU.
const mostOfGPU = 220 * time.Second

// A sheet is what TestOneGPU has found out, as rows of a table.
type sheet struct {
	begin time.Time
	rows  []string
}

// do runs a case as a subtest, and notes what it returns and how long it took.
func (s *sheet) do(t *testing.T, name string, run func(t *testing.T) string) {
	if onGPU() && time.Since(s.begin) > mostOfGPU {
		s.rows = append(s.rows, fmt.Sprintf("%-34s not run: no time", name))
		t.Errorf("%s: no time is left", name)
		return
	}
	begin, ran, said, verdict := time.Now(), false, "", "FAILS"
	if t.Run(name, func(t *testing.T) {
		ran = true
		said = run(t)
	}) {
		verdict = "well"
	}
	if !ran { // -run names others
		return
	}
	s.rows = append(s.rows, fmt.Sprintf("%-34s %-5s %6.1f s  %s", name, verdict, time.Since(begin).Seconds(), said))
}

// shared returns the environment of ranks that share the GPU.
func shared() []string {
	// Streams beyond the driver's connections would wait for each other.
	return []string{"MSCCLC_SHARED_GPU=1", "MSCCLC_NCCL=none", "MSCCLC_STANDIN_GPUS=1", "CUDA_DEVICE_MAX_CONNECTIONS=32",
		"CLIENT_POOL=" + fmt.Sprint(512<<20), "ENGINE_POOL=" + fmt.Sprint(256<<20)}
}

// TestOneGPU runs the client and the engine with ranks that share one GPU, and prints a table: on the mock driver, or
// on the machine's GPU (MSCCLC_REQUIRE=cuda).
func TestOneGPU(t *testing.T) {
	s := &sheet{begin: time.Now()}
	file := write(t, bundle.Encode(makeBundle(t, allTypes(), 8, 2, 4)))
	s.data(t, file)
	s.failures(t, file)
	s.engine(t)
	s.nodes(t)
	s.costs(t)
	if onGPU() {
		s.contexts(t, file)
	}
	fmt.Printf("%s, %v\n%s\n", device, time.Since(s.begin).Round(time.Second), strings.Join(s.rows, "\n"))
}

// client runs commands in ranks that share the GPU.
func client(t *testing.T, ranks int, threads bool, file string, env []string, commands ...string) *run {
	t.Helper()
	one := site{how: "alone", ranks: ranks, threads: threads, bundle: file, env: append(shared(), env...)}
	return one.do(t, commands...)
}

// natives returns how many calls were native, and fails the test where one was not.
func (r *run) natives(t *testing.T) string {
	t.Helper()
	r.well(t)
	if strings.Contains(r.stats, `"native":false`) || !strings.Contains(r.stats, `"native":true`) {
		t.Errorf("calls were: %s\n%s", r.stats, r.output)
	}
	return ""
}

// data has all functions, types and operations, groups, captures, windows, and threads with several ranks.
func (s *sheet) data(t *testing.T, file string) {
	ways := []struct {
		ranks, period int
		threads       bool
	}{{2, 1, true}, {4, 1, true}, {2, 1, false}, {4, 4, false}}
	if !onGPU() {
		ways = ways[2:]
	}
	for _, w := range ways {
		name := fmt.Sprintf("%d %s", w.ranks, map[bool]string{true: "threads", false: "processes"}[w.threads])
		s.do(t, "all calls, "+name, func(t *testing.T) string {
			period := w.period
			if !onGPU() {
				period = 24
			}
			calls := allCalls(w.ranks, period)
			client(t, w.ranks, w.threads, file, nil, calls...).natives(t)
			return fmt.Sprint(len(calls), " commands")
		})
		s.do(t, "groups and captures, "+name, func(t *testing.T) string {
			return client(t, w.ranks, w.threads, file, nil, sharedCalls...).natives(t)
		})
		s.do(t, "windows, "+name, func(t *testing.T) string {
			var calls []string
			for _, kind := range []string{"plain", "mapped", "parts"} {
				calls = append(calls, "memory 0 "+kind+" 400000", "window 0 0 0 0 400000", "allreduce 0 5000 7 0 0 0 v 0 4096",
					"sync", "allgather 0 777 7 0 0 0 vi 0 8192", "sync", "unwindow 0 0", "meet "+kind, "free 0")
			}
			calls = slices.Concat([]string{"init 0"}, calls, []string{"destroy 0"})
			return client(t, w.ranks, w.threads, windowBundle(t, true, w.ranks), nil, calls...).natives(t)
		})
	}
	// With one connection, launches of all streams of a process stand in one queue.
	for _, connections := range []string{"32", "1"} {
		s.do(t, "made while a call waits, "+connections, func(t *testing.T) string {
			env := []string{"CLIENT_ALARM=20", "CUDA_DEVICE_MAX_CONNECTIONS=" + connections}
			return client(t, 2, false, file, env, whileWaits...).natives(t)
		})
	}
	s.do(t, "made while a call waits, threads", func(t *testing.T) string {
		return client(t, 2, true, file, []string{"CLIENT_ALARM=20"}, whileWaits...).natives(t)
	})
	s.do(t, "a thread with 4 ranks", func(t *testing.T) string {
		return client(t, 1, false, file, nil, allOfThread(4)...).natives(t)
	})
}

// failures has ranks that are killed or abort, and forked children.
func (s *sheet) failures(t *testing.T, file string) {
	for _, threads := range []bool{true, false} {
		s.do(t, fmt.Sprint("abort of five, threads ", threads), func(t *testing.T) string {
			r := client(t, 4, threads, file, nil, abortCalls(4)...).well(t)
			return fmt.Sprintf("the slowest of 6 aborts took %.0f ms", slices.Max(r.times(t, "abort")))
		})
	}
	s.do(t, "a killed rank", func(t *testing.T) string {
		r := client(t, 2, false, file, nil, "init 0", "allreduce 0 1000 7 0 0 0 v", "sync", "kill 1", "expect -1",
			"allreduce 0 1000 7 0 0 0", "timed untilerror 0", "timed abort 0")
		if r.failed[0] != nil || !strings.Contains(r.output, "the process of rank 1 ") {
			t.Errorf("%v\n%s", r.failed[0], r.output)
		}
		return fmt.Sprintf("error after %.0f ms, abort %.0f ms", slices.Max(r.times(t, "untilerror")), slices.Max(r.times(t, "abort")))
	})
	s.do(t, "a forked child", func(t *testing.T) string {
		const call = "allreduce 0 1000 7 0 0 0 v"
		return client(t, 2, false, file, nil, "init 0", call, "fork", call, "sync", "destroy 0").natives(t)
	})
}

var took = regexp.MustCompile(`rank \d+: (\w+) took ([0-9.]+) ms`)

// times returns how many milliseconds commands of a name took.
func (r *run) times(t *testing.T, command string) (list []float64) {
	t.Helper()
	for _, m := range took.FindAllStringSubmatch(r.output, -1) {
		if x, err := strconv.ParseFloat(m[2], 64); err == nil && m[1] == command {
			list = append(list, x)
		}
	}
	if list == nil {
		t.Fatalf("no %s took time:\n%s", command, r.output)
	}
	return list
}

// engine runs parts of testdata/engine.cc.
func (s *sheet) engine(t *testing.T) {
	program := engineProgram(t)
	parts := []struct {
		how   string
		ranks int
		parts string
	}{
		{"threads", 2, "every mixes streams captures graphs abort abortgraph forked watched"},
		{"threads", 4, "pairs every"},
		{"processes", 2, "every streams captures graphs abort abortgraph forked watched lives"},
	}
	if !onGPU() {
		parts = parts[:1]
		parts[0].parts = "mixes streams captures"
	}
	for _, c := range parts {
		s.do(t, fmt.Sprint("engine, ", c.ranks, " ", c.how), func(t *testing.T) string {
			file := write(t, bundle.Encode(makeBundle(t, engineTypes, 4, c.ranks)))
			out := engine(t, program, file, c.how, c.ranks, strings.Fields(c.parts), append(shared(), "PAIRS_PERIOD=20")...)
			return fmt.Sprint(strings.Count(out, "\n"), " parts")
		})
	}
}

// costs has what a call costs the host, the memory of communicators, and how long they take to make.
func (s *sheet) costs(t *testing.T) {
	ctas, bursts := 32, 100
	if !onGPU() {
		ctas, bursts = 2, 2
	}
	usual := write(t, bundle.Encode(makeBundle(t, []data.DType{data.BF16, data.F16, data.F32}, ctas, 2)))
	s.do(t, "host cost of ncclAllReduce", func(t *testing.T) string {
		var list []string
		for _, count := range []int{64, 4096} {
			r := client(t, 1, false, usual, nil, "initall 2", fmt.Sprint("bench ", count, " ", bursts), "destroy 0", "destroy 1")
			r.natives(t)
			list = append(list, fmt.Sprintf("%d f32: %s", count, strings.TrimPrefix(strings.TrimSpace(r.output), "host: ")))
		}
		return strings.Join(list, ", ")
	})
	s.do(t, "memory and time of communicators", func(t *testing.T) string {
		r := client(t, 2, false, usual, nil, "meet 0", "room", "meet 1", "timed init 0", "meet 2", "room", "meet 3", "init 1",
			"init 2", "meet 4", "room", "meet 5", "destroy 0", "destroy 1", "destroy 2").well(t)
		free := regexp.MustCompile(`rank 0: (\d+) KiB are free`).FindAllStringSubmatch(r.output, -1)
		if len(free) != 3 {
			t.Fatalf("%s", r.output)
		}
		kib := func(i int) int { n, _ := strconv.Atoi(free[i][1]); return n }
		return fmt.Sprintf("of two ranks: first %d MiB, next %d MiB each; init %.0f ms", (kib(0)-kib(1))>>10, (kib(1)-kib(2))>>11,
			slices.Max(r.times(t, "init")))
	})
	s.do(t, "init without a finished bundle", func(t *testing.T) string {
		r := client(t, 2, false, usual, []string{"CUDA_CACHE_DISABLE=1"}, "timed init 0", "destroy 0").well(t)
		return fmt.Sprintf("%.0f ms, with three types", slices.Max(r.times(t, "init")))
	})
	s.do(t, "loading of each image", func(t *testing.T) string {
		file := write(t, bundle.Encode(makeBundle(t, allTypes(), ctas, 2)))
		out := engine(t, engineProgram(t), file, "threads", 1, []string{"loads"}, append(shared(), "CUDA_CACHE_DISABLE=1")...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return strings.TrimPrefix(lines[len(lines)-1], "loads: ")
	})
}

// contexts has green contexts and MPS, with which ranks run no programs.
func (s *sheet) contexts(t *testing.T, file string) {
	refused := []string{"init 0", "expect 5", "allreduce 0 1000 7 0 0 0", "destroy 0"}
	s.do(t, "a green context", func(t *testing.T) string {
		r := client(t, 2, false, file, nil, append([]string{"green"}, refused...)...).well(t)
		if !strings.Contains(r.output, "the context is not the primary one") {
			t.Error(r.output)
		}
		return ""
	})
	control, err := exec.LookPath("nvidia-cuda-mps-control")
	if err != nil {
		s.rows = append(s.rows, "MPS: not run, there is no nvidia-cuda-mps-control")
		return
	}
	s.do(t, "MPS", func(t *testing.T) string {
		dir := t.TempDir()
		env := []string{"CUDA_MPS_PIPE_DIRECTORY=" + dir, "CUDA_MPS_LOG_DIRECTORY=" + filepath.Join(dir, "log")}
		tell := func(input string, args ...string) string {
			cmd := exec.CommandContext(t.Context(), "timeout", append([]string{"10", control}, args...)...)
			cmd.Env, cmd.Stdin = append(cmd.Environ(), env...), strings.NewReader(input)
			out, err := cmd.CombinedOutput()
			return fmt.Sprint(string(out), err)
		}
		started := tell("", "-d")
		defer func() { t.Log(tell("quit\n")) }()
		r := client(t, 2, false, file, env, refused...)
		if !strings.Contains(r.output, "the GPU is shared by MPS") {
			t.Errorf("%s\n%v\n%s", started, r.failed, r.output)
		}
		return ""
	})
}

package runtime_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/internal/covering"
)

// allTypes returns the types of bundles that serve all calls.
func allTypes() (list []data.DType) {
	for d := range data.NumDTypes {
		list = append(list, d)
	}
	return list
}

// wholeBundle writes a bundle for all types.
func wholeBundle(t *testing.T, ranks ...int) string {
	t.Helper()
	wholeBundles.Lock()
	defer wholeBundles.Unlock()
	key := fmt.Sprint(ranks)
	if wholeBundles.of[key] == nil {
		wholeBundles.of[key] = bundle.Encode(makeBundle(t, allTypes(), 4, ranks...))
	}
	return write(t, wholeBundles.of[key])
}

// wholeBundles has what wholeBundle made, by ranks.
var wholeBundles = struct {
	sync.Mutex
	of map[string][]byte
}{of: map[string][]byte{}}

// allCalls are calls of all functions, types and operations, in all placements. period leaves out most of them.
func allCalls(ranks, period int) []string {
	calls := []string{"init 0"}
	flags := []string{"v", "vu", "vi", "vm", "vum"}
	k := 0
	add := func(fn string, count, dtype, op int) {
		flag := flags[k%len(flags)]
		if fn == "alltoall" {
			flag = flags[k%2] // it is never in place
		}
		if covering.Takes(k, period) {
			calls = append(calls, fmt.Sprintf("%s 0 %d %d %d %d %d %s", fn, count, dtype, op, k%ranks, k%3, flag))
		}
		k++
	}
	for _, fn := range []string{"allreduce", "reducescatter", "reduce"} {
		for dtype := range 10 {
			for op := range 5 {
				for _, count := range []int{1, 4097, 1000 * (1 + k%7)} {
					add(fn, count, dtype, op)
				}
			}
		}
		calls = append(calls, "sync")
	}
	for _, fn := range []string{"allgather", "broadcast", "alltoall", "gather", "scatter"} {
		for dtype := range 12 {
			for _, count := range []int{1, 777, 30000} {
				add(fn, count, dtype, 0)
			}
		}
		calls = append(calls, "sync")
	}
	return append(calls, "sync", "destroy 0")
}

// TestFrontData: without NCCL, all functions give right results, and no call is left over.
func TestFrontData(t *testing.T) {
	for _, c := range []struct {
		ranks   int
		threads bool
		period  int
	}{{2, false, 4}, {3, false, 8}, {4, true, 8}, {5, false, 96}, {6, false, 96}, {7, false, 96}, {8, false, 64}} {
		t.Run(fmt.Sprint(c.ranks, c.threads), func(t *testing.T) {
			s := site{how: "alone", ranks: c.ranks, threads: c.threads, bundle: wholeBundle(t, c.ranks)}
			r := s.do(t, allCalls(c.ranks, c.period)...).well(t)
			if strings.Contains(r.stats, `"native":false`) || !strings.Contains(r.stats, `"native":true`) {
				t.Errorf("calls were: %s", r.stats)
			}
		})
	}
}

// TestFrontEmpty: calls of no elements between processes, among others.
func TestFrontEmpty(t *testing.T) {
	commands := []string{"init 0"}
	for i, fn := range []string{"allreduce", "allgather", "reducescatter", "broadcast", "reduce", "gather", "scatter", "alltoall"} {
		commands = append(commands, fmt.Sprintf("%s 0 0 7 0 0 %d v", fn, i%3), fmt.Sprintf("%s 0 %d 7 0 1 %d vu", fn, 7+i, i%3))
	}
	for _, how := range []string{"alone", "preload"} {
		s := site{how: how, ranks: 3, bundle: wholeBundle(t, 3)}
		s.do(t, append(commands, "sync", "destroy 0")...).well(t)
	}
}

// TestFrontMixed: beside NCCL, with groups, captures that are replayed, and two communicators on two streams.
func TestFrontMixed(t *testing.T) {
	file := wholeBundle(t, 2, 4)
	for _, c := range []site{
		{how: "preload", ranks: 2}, {how: "forward", ranks: 4}, {how: "both", ranks: 2}, {how: "preload", ranks: 4, threads: true},
	} {
		t.Run(fmt.Sprint(c.how, c.ranks, c.threads), func(t *testing.T) {
			c.bundle = file
			r := c.do(t, "init 0", "init 1", "allreduce 0 1000 7 0 0 0 v", "allreduce 1 1000 7 0 0 1 vm",
				"start", "allreduce 0 100000 7 0 0 0 v", "start", "allgather 0 999 7 0 0 1 v", "end",
				"allreduce 1 50 9 0 0 2 v", "send 0 10 7 0 0 1", "end", "sync",
				"capture 0", "allreduce 0 1000 7 0 0 0 v", "allgather 0 1000 7 0 0 0 v", "endcapture 0 5", "sync",
				"allreduce 0 0 7 0 0 0", "reduce 0 10 10 0 0 0", "destroy 0", "destroy 1").well(t)
			for rank, notes := range r.notes {
				at := slices.IndexFunc(notes, func(n string) bool { return strings.HasPrefix(n, "nccl AllReduce count=0") })
				if at < 0 {
					t.Errorf("rank %d: an empty call did not reach NCCL: %q", rank, notes)
				}
				if n := strings.Count(strings.Join(notes, "\n"), "AllReduce"); n != 1 {
					t.Errorf("rank %d: NCCL has %d AllReduces: %q", rank, n, notes)
				}
			}
		})
	}
}

// TestFrontOne: without NCCL, a communicator of one rank copies.
func TestFrontOne(t *testing.T) {
	s := site{how: "alone", ranks: 1, bundle: wholeBundle(t, 2)}
	s.do(t, "init 0", "allreduce 0 1000 7 4 0 0 v", "allgather 0 10 8 0 0 0 vi", "bcast 0 10 7 0 0 0", "sync", "destroy 0").well(t)
}

// TestFrontMany makes and destroys many communicators. GPUs have memory for a few only.
func TestFrontMany(t *testing.T) {
	var commands []string
	count := 20
	if covering.CI() {
		count = 100
	}
	for i := range count {
		commands = append(commands, fmt.Sprint("init 0 1 0 ", i), "allreduce 0 1000 7 0 0 0 v", "sync", "destroy 0")
	}
	b := makeBundle(t, []data.DType{data.F32}, 1, 2)
	room := fmt.Sprint("MSCCLC_STANDIN_MEMORY=", 5*b.Sets[0].Arena+64<<20)
	for _, c := range []site{{how: "preload", ranks: 2}, {how: "alone", ranks: 2, threads: true}} {
		t.Run(c.how, func(t *testing.T) {
			c.bundle, c.env = write(t, bundle.Encode(b)), []string{room}
			r := c.do(t, commands...).well(t)
			if strings.Contains(r.stats, `"native":false`) {
				t.Errorf("calls were: %s", r.stats)
			}
		})
	}
}

// TestFrontFails: a rank that is killed is named to the others within 2 s, with the step that waits for it. They abort
// within 1 s. A forked child's calls fail at once.
func TestFrontFails(t *testing.T) {
	file := wholeBundle(t, 3)
	for _, how := range []string{"preload", "alone"} {
		s := site{how: how, ranks: 3, bundle: file}
		const call = "allreduce 0 100000 7 0 0 0"
		r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "sync", "@0 "+call, "@2 "+call, "sleep 300", "meet 1", "kill 1",
			"timed untilerror 0", "timed abort 0")
		for rank, err := range r.failed {
			if (err != nil) != (rank == 1) {
				t.Errorf("%s: rank %d ends with %v", how, rank, err)
			}
		}
		for _, rank := range []int{0, 2} {
			want := regexp.MustCompile(fmt.Sprintf(`rank %d: error 6: rank %[1]d of 3: the process of rank 1 \(\d+\) has ended; `+
				`rank %[1]d: allreduce/\S+ \S+: block \d+ step \d+ \(allreduce/\w+\.mscl:\d+\) waited \d+ ms for `, rank))
			if !want.MatchString(r.output) {
				t.Errorf("%s: no %q in the output:\n%s", how, want, r.output)
			}
		}
		r.patient(t, "untilerror", 2*time.Second)
		r.patient(t, "abort", time.Second)
		s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "fork", "allreduce 0 1000 7 0 0 0 v", "sync", "destroy 0").well(t)
	}
}

// within fails the test where a command took more milliseconds.
func (r *run) within(t *testing.T, command string, most float64) {
	t.Helper()
	if slowest := slices.Max(r.times(t, command)); slowest > most {
		t.Errorf("%s took %.0f ms\n%s", command, slowest, r.output)
	}
}

// abortCalls are calls on five communicators that rank 1 does not make, and aborts.
func abortCalls(ranks int) (commands []string) {
	each := func(count int, format string) {
		for i := range count {
			commands = append(commands, fmt.Sprintf(format, i%5, i%4))
		}
	}
	each(5, "init %d#%d")
	commands = append(commands, "init 5", "allreduce 5 1000 7 0 0 0 v")
	each(20, "allreduce %d 1000 7 0 0 %d v")
	commands = append(commands, "sync")
	for rank := range ranks {
		if rank != 1 {
			each(20, fmt.Sprint("@", rank, " allreduce %d 3000 7 0 0 %d"))
		}
	}
	commands = append(commands, "meet 1", "timed abort 5")
	each(5, "timed abort %d#%d")
	for i, c := range commands {
		commands[i], _, _ = strings.Cut(c, "#")
	}
	return commands
}

// TestFrontAbort: ranks of five communicators abort while calls run that one rank never makes. The message names it.
// The first abort is of a communicator without such calls: its memory cannot be freed while the others' calls run. Some
// drivers do not pin memory: then the driver copies what launches get.
func TestFrontAbort(t *testing.T) {
	t.Parallel()
	for _, c := range []site{{how: "preload", ranks: 3}, {how: "alone", ranks: 3, threads: true},
		{how: "preload", ranks: 3, env: []string{"MSCCLC_STANDIN_UNPINNED=1"}}} {
		c.bundle = wholeBundle(t, 3)
		r := c.do(t, abortCalls(3)...).well(t)
		if want := "rank 1 has made 4 native calls on this communicator, and others up to 8"; !strings.Contains(r.output, want) {
			t.Errorf("%s: %q is not in the output:\n%s", c.how, want, r.output)
		}
		r.patient(t, "abort", time.Second)
	}
}

// TestFrontMismatch: where calls do not match, an abort says which rank called what.
func TestFrontMismatch(t *testing.T) {
	for call, want := range map[string]string{
		"allgather 0 50 9 0 0 0":     "and rank 1 called ncclAllGather of 50 bf16",
		"allreduce 0 300000 7 0 0 0": "and rank 1 called ncclAllReduce of 300000 f32",
	} {
		s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2)}
		r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "sync", "@0 allreduce 0 1000 7 0 0 0", "@1 "+call, "meet 1",
			"sleep 50", "abort 0")
		if !strings.Contains(r.output, "call 2: rank 0 called ncclAllReduce of 1000 f32, "+want) {
			t.Errorf("%q is not in the output:\n%s", want, r.output)
		}
	}
}

// TestFrontOneProcess: a thread has all ranks, as nccl-tests -g does.
func TestFrontOneProcess(t *testing.T) {
	file := wholeBundle(t, 4)
	for _, how := range []string{"preload", "alone"} {
		for _, begin := range []string{"initall 4", "initgroup 4"} {
			s := site{how: how, ranks: 1, bundle: file}
			commands := []string{begin}
			for _, call := range []string{"allreduce %d 3000 7 0 0 %d vm", "reducescatter %d 555 9 2 0 %d vu", "gather %d 70 1 0 2 %d vi"} {
				commands = append(commands, "start")
				for i := range 4 {
					commands = append(commands, fmt.Sprintf(call, i, i))
				}
				commands = append(commands, "end")
			}
			commands = append(commands, "sync", "destroy 0", "destroy 1", "destroy 2", "destroy 3")
			r := s.do(t, commands...).well(t)
			if strings.Contains(r.stats, `"native":false`) || !strings.Contains(r.stats, `"calls":4`) {
				t.Errorf("%s: calls were: %s", begin, r.stats)
			}
		}
	}
}

// TestFrontSplitGroup: a thread that has all ranks splits them in a group, some of them twice.
func TestFrontSplitGroup(t *testing.T) {
	for _, how := range []string{"preload", "alone"} {
		s := site{how: how, ranks: 1, bundle: wholeBundle(t, 2)}
		commands := []string{"initall 2", "start", "split 0 4 1", "split 1 5 1", "end"}
		if how == "alone" { // the mock NCCL does not put two splits of one communicator in order
			commands = []string{"initall 2", "start", "split 0 4 1", "split 0 6 1", "split 1 5 1", "split 1 7 1", "end",
				"start", "allreduce 6 70 7 0 0 0 v", "allreduce 7 70 7 0 0 1 v", "end", "destroy 6", "destroy 7"}
		}
		commands = append(commands, "start", "allreduce 4 3000 7 0 0 0 v", "allreduce 5 3000 7 0 0 1 v", "end", "sync",
			"destroy 4", "destroy 5", "destroy 0", "destroy 1")
		if r := s.do(t, commands...).well(t); strings.Contains(r.stats, `"native":false`) {
			t.Errorf("%s: calls were: %s", how, r.stats)
		}
	}
}

// TestFrontStopped: a rank that is stopped for a while is no error.
func TestFrontStopped(t *testing.T) {
	t.Parallel()
	s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2)}
	stop, look := "@1 stop 500", "@0 sleep 300"
	if covering.CI() {
		stop, look = "@1 stop 10000", "@0 sleep 9500"
	}
	s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", stop, "allreduce 0 1000 7 0 0 0 v", look, "@0 well 0",
		"sync", "well 0", "destroy 0").well(t)
}

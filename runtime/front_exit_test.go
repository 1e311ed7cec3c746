package runtime_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mscclc/executor/data"
	"mscclc/internal/covering"
)

// exitSites are where ranks of a communicator are when the process of the last one exits.
func exitSites() []site {
	return []site{{how: "preload", ranks: 2}, {how: "alone", ranks: 2}, {how: "preload", ranks: 4}, {how: "alone", ranks: 4, each: 2}}
}

// exits runs a test of an exit at all sites.
func exits(t *testing.T, test func(t *testing.T, s site, last int)) {
	file := wholeBundle(t, 2, 4)
	for _, s := range exitSites() {
		t.Run(fmt.Sprint(s.how, s.ranks, s.each), func(t *testing.T) {
			s.bundle = file
			test(t, s, s.ranks-1)
		})
	}
}

// others returns a command of all ranks that are not in the process of the last one.
func (s *site) others(command string) (list []string) {
	for r := range s.ranks - max(1, s.each) {
		list = append(list, fmt.Sprintf("@%d %s", r, command))
	}
	return list
}

// soon fails the test where a command took more than a second.
func (r *run) soon(t *testing.T, command string) {
	t.Helper()
	r.patient(t, command, time.Second)
}

// patient fails the test where a command took longer than a busy machine needs for it: it would hang, if not for long.
func (r *run) patient(t *testing.T, command string, most time.Duration) {
	t.Helper()
	r.within(t, command, float64(covering.Patience(most).Milliseconds()))
}

// named fails the test where an error of another rank does not name the rank that has exited, and the call.
func named(t *testing.T, s site, r *run, call string) {
	t.Helper()
	for rank := range s.ranks - max(1, s.each) {
		want := regexp.MustCompile(fmt.Sprintf(`rank %d: error 6: rank %[1]d of %d: the process of rank \d \(\d+\) exited without `+
			`ncclCommDestroy after %s`, rank, s.ranks, call))
		if !want.MatchString(r.output) {
			t.Errorf("no %s in\n%s", want, r.output)
		}
	}
}

// TestFrontExit: a process ends by exit() without ncclCommDestroy while others wait for it in a call that it does not
// make. They have an error that names it and the call.
func TestFrontExit(t *testing.T) {
	exits(t, func(t *testing.T, s site, last int) {
		commands := []string{"init 0", "allreduce 0 1000 7 0 0 0 v", "allgather 0 1000 7 0 0 0 v", "sync"}
		commands = append(commands, s.others("allreduce 0 1024 7 0 0 0")...)
		commands = append(commands, "meet a", fmt.Sprint("exit ", last))
		commands = append(commands, s.others("timed untilerror 0")...)
		r := s.do(t, append(commands, s.others("timed abort 0")...)...).well(t)
		named(t, s, r, `2 native calls; call 3, ncclAllReduce of 1024 f32, cannot end; rank \d: allreduce/`)
		r.soon(t, "untilerror")
		r.soon(t, "abort")
	})
}

// TestFrontExitBefore: calls that others make after such an exit fail at once. Before, there is no error.
func TestFrontExitBefore(t *testing.T) {
	exits(t, func(t *testing.T, s site, last int) {
		commands := []string{"init 0", "allreduce 0 1000 7 0 0 0 v", "sync", "meet a", fmt.Sprint("exit ", last)}
		commands = append(commands, s.others("sleep 1000")...)
		commands = append(commands, s.others("well 0")...)
		commands = append(commands, s.others("expect 6")...)
		commands = append(commands, s.others("allgather 0 70 9 0 0 0")...)
		commands = append(commands, s.others("untilerror 0")...)
		r := s.do(t, append(commands, s.others("destroy 0")...)...).well(t)
		named(t, s, r, `1 native calls; call 2, ncclAllGather of 70 bf16, cannot end`)
	})
}

// TestFrontExitWell: where nobody makes a later call, such an exit is no error, and all data are right.
func TestFrontExitWell(t *testing.T) {
	exits(t, func(t *testing.T, s site, last int) {
		commands := []string{"init 0", "allreduce 0 1000 7 0 0 0 v", "capture 0", "allreduce 0 5000 7 0 0 0 v",
			"endcapture 0 3", "sync", fmt.Sprint("exit ", last)}
		commands = append(commands, s.others("sleep 1000")...)
		commands = append(commands, s.others("well 0")...)
		r := s.do(t, append(commands, s.others("destroy 0")...)...).well(t)
		if strings.Contains(r.output, "rank ") {
			t.Error(r.output)
		}
	})
}

// TestFrontExitEarlier: a call that the rank has finished ends right, although another rank is late. The next fails.
func TestFrontExitEarlier(t *testing.T) {
	for _, how := range []string{"preload", "alone"} {
		s := site{how: how, ranks: 3, bundle: wholeBundle(t, 3)}
		const call, later = "gather 0 100 7 0 0 0 v", "allreduce 0 1024 7 0 0 0"
		r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "sync", "@0 "+call, "@2 "+call, "@2 sync", "@2 exit 2",
			"@1 sleep 1500", "@0 sleep 1000", "@0 well 0", "@1 "+call, "@0 sync", "@1 sync", "well 0", "expect -1", later,
			"untilerror 0", "abort 0").well(t)
		for rank := range 2 {
			want := fmt.Sprintf("rank %d: error 6: rank %[1]d of 3: the process of rank 2 ", rank)
			const last = " after 2 native calls; call 3, ncclAllReduce of 1024 f32"
			if !strings.Contains(r.output, want) || !strings.Contains(r.output, last) {
				t.Errorf("%s: no %q in\n%s", how, want, r.output)
			}
		}
	}
}

// TestFrontExitGraphs: launches of graphs count. Others launch a graph once more than the rank that exits.
func TestFrontExitGraphs(t *testing.T) {
	exits(t, func(t *testing.T, s site, last int) {
		commands := []string{"init 0", "allreduce 0 1000 7 0 0 0 v", "capture 0", "allreduce 0 5000 7 0 0 0",
			"endcapture 0 3", "meet a", "sleep 300"}
		commands = append(commands, s.others("replay 0")...)
		commands = append(commands, fmt.Sprint("exit ", last))
		commands = append(commands, s.others("timed untilerror 0")...)
		r := s.do(t, append(commands, s.others("abort 0")...)...).well(t)
		named(t, s, r, `4 native launches; launch 5, counting those of graphs, cannot end; rank \d: allreduce/`)
		r.soon(t, "untilerror")
	})
}

// TestFrontExitFault: the GPU of the rank has failed before its process exits. Nobody knows what it has finished. Its
// last launch uses memory that it has freed.
func TestFrontExitFault(t *testing.T) {
	s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2)}
	r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "sync", "@1 capture 0", "@1 allreduce 0 5000 7 0 0 0",
		"@1 endcapture 0 0", "@1 sync", "@1 replay 0", "@1 sleep 200", "exit 1", "timed untilerror 0", "abort 0").well(t)
	want := regexp.MustCompile(`rank 0: error 6: rank 0 of 2: the process of rank 1 \(\d+\) exited without ` +
		`ncclCommDestroy, and its GPU fails: an illegal memory access was encountered`)
	if !want.MatchString(r.output) {
		t.Errorf("no %s in\n%s", want, r.output)
	}
}

// plugin builds the net plugin of tests, by which ranks of several nodes reach each other.
func plugin(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plugin.so")
	build := exec.Command("g++", "-std=c++17", "-O1", "-DVERSION=10", "-shared", "-fPIC", "-o", file,
		"../transport/testdata/plugin.cc")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestFrontExitNodes: ranks on another node learn of such an exit, too, and have an error where they make a later call.
func TestFrontExitNodes(t *testing.T) {
	s := site{how: "alone", ranks: 4, bundle: nodesFile(t, []data.DType{data.F32}, 4, "2")}
	s.env, s.of = onNodes("a", "a", "b", "b")
	s.env = append(s.env, "MSCCLC_NET=ncclnet:"+plugin(t))
	const call = "allreduce 0 100000 7 0 0 0"
	commands := []string{"init 0", call + " v", "allreduce 0 100 7 0 0 0 v", "sync", "@3 come well",
		"exit 3", "sleep 1000", "well 0", "meet well"}
	for _, more := range []string{call, "timed untilerror 0", "abort 0"} {
		commands = append(commands, "expect -1", more)
	}
	r := s.do(t, commands...).well(t)
	for rank := range 3 {
		want := regexp.MustCompile(fmt.Sprintf(`rank %d: error 6: rank %[1]d`, rank))
		if !want.MatchString(r.output) {
			t.Errorf("no %s in\n%s", want, r.output)
		}
	}
	if !regexp.MustCompile(`rank 2: error 6: rank 2 of 4: the process of rank 3 \(\d+\) exited without ncclCommDestroy ` +
		`after 2 native calls; call 3, ncclAllReduce of 100000 f32, cannot end`).MatchString(r.output) {
		t.Errorf("rank 2 does not say who has exited:\n%s", r.output)
	}
	r.soon(t, "untilerror")
}

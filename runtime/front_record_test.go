package runtime_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"mscclc/internal/testing/objects"
)

// A recordFile is what a process writes of its last calls.
type recordFile struct {
	Schema        int
	Host          string
	Pid           int
	Written       string
	Communicators []struct {
		Name, ID, State, Failure string
		Rank, Ranks, Calls       int
		Last                     []struct {
			Number, Call             int
			Function, Type, Op, Time string
			Reason, State            string
			Count                    int
			Native, Captured         bool
		}
	}
}

// records reads what the processes wrote of their last calls, by rank of the first communicator.
func records(t *testing.T, dir string, processes int) []recordFile {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "mscclc-*.calls.json"))
	all := make([]recordFile, processes)
	if len(names) != processes {
		t.Fatalf("%d files of calls, not %d", len(names), processes)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		var f recordFile
		if err == nil {
			err = json.Unmarshal(text, &f)
		}
		if err != nil || len(f.Communicators) == 0 || f.Schema != 1 {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		all[f.Communicators[0].Rank] = f
	}
	return all
}

// TestFrontDump: the file dump in the folder of metrics has each process write its last calls. The one that waits is
// open, and those before it have ended.
func TestFrontDump(t *testing.T) {
	dir := t.TempDir()
	s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_METRICS=" + dir, "MSCCLC_PERIOD=0.05"}}
	commands := []string{"init 0"}
	for range 70 {
		commands = append(commands, "allreduce 0 1000 7 0 0 0")
	}
	commands = append(commands, "reduce 0 10 10 0 0 0", "send 0 10 7 0 0 0", "sync", "@0 allreduce 0 500 9 4 0 0", "meet 1",
		"@1 touch "+filepath.Join(dir, "dump"), "@1 sleep 1000", "meet 2", "@1 allreduce 0 500 9 4 0 0", "sync", "destroy 0")
	s.do(t, commands...).well(t)
	for rank, f := range records(t, dir, 2) {
		c := f.Communicators[0]
		last := c.Last[len(c.Last)-1]
		if want := 72 - rank; c.Calls != want || len(c.Last) != 64 || c.State != "native" || len(c.ID) != 16 || c.Name != c.ID[:8] {
			t.Errorf("rank %d: %+v", rank, c)
		}
		got := fmt.Sprintln(last.Number, last.Call, last.Function, last.Count, last.Type, last.Op, last.Native, last.State)
		if want := []string{"73 72 ncclAllReduce 500 bf16 avg true open\n", "72 0 ncclSend 10 f32  false ended\n"}[rank]; got != want {
			t.Errorf("rank %d: the last call is %s, not %s", rank, got, want)
		}
		for _, one := range c.Last[:63] {
			if one.State != "ended" && (one.Native || rank == 1) {
				t.Errorf("rank %d: %+v", rank, one)
			}
		}
		if rank := f.Communicators[0].Rank; f.Written != "asked by the file dump" {
			t.Errorf("rank %d: written as %q", rank, f.Written)
		}
	}
}

// built is the command mscclc.
var built = sync.OnceValues(func() (string, error) {
	command := filepath.Join(scratch, "mscclc")
	build := exec.Command("go", "build", "-o", command, "mscclc/cmd/mscclc")
	build.Env = objects.Environ()
	out, err := build.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return command, err
})

// TestFrontDoctor: mscclc doctor finds the call that does not match in what two ranks wrote, and nothing where all
// match.
func TestFrontDoctor(t *testing.T) {
	t.Parallel()
	command, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		count, code int
		want        string
	}{
		{1000, 0, "ok    2 processes, 1 communicator: all calls match\n"},
		{300000, 1, "  call 2 does not match: rank 0 called ncclAllReduce of 1000 f32 sum, and rank 1 called ncclAllReduce of 300000 f32 sum\n"},
	} {
		dir := t.TempDir()
		s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_METRICS=" + dir, "MSCCLC_PERIOD=0.05"}}
		s.do(t, "init 0", "allreduce 0 1000 7 0 0 0", "sync", "@0 allreduce 0 1000 7 0 0 0",
			fmt.Sprintf("@1 allreduce 0 %d 7 0 0 0", c.count), "meet 1", "sleep 50", "touch "+filepath.Join(dir, "dump"), "sleep 500",
			"abort 0").well(t)
		cmd := exec.Command(command, "doctor", dir)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != c.code || !strings.Contains(string(out), c.want) {
			t.Errorf("%d elements: %v\n%s", c.count, err, out)
		}
	}
}

// TestFrontDumpOfFailure: the last calls are written when a communicator fails: calls that do not match are aborted, a
// wait is too long, or a process ends.
func TestFrontDumpOfFailure(t *testing.T) {
	for name, c := range map[string]struct {
		env      string
		commands []string
		files    int
		failure  string
	}{
		"abort":   {"MSCCLC_FEW=1", []string{"@0 allreduce 0 1000 7 0 0 0", "@1 allgather 0 50 9 0 0 0", "meet 1", "sleep 50", "abort 0"}, 2, "call 2: rank 0 called"},
		"timeout": {"MSCCLC_TIMEOUT=0.2", []string{"@0 allreduce 0 1000 7 0 0 0", "@0 sleep 1000", "@0 abort 0", "meet 1", "@1 destroy 0"}, 1, ""},
		"killed":  {"MSCCLC_FEW=1", []string{"@0 allreduce 0 1000 7 0 0 0", "meet 1", "kill 1", "untilerror 0", "abort 0"}, 1, "the process of rank 1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_METRICS=" + dir, "MSCCLC_PERIOD=0.1", c.env}}
			r := s.do(t, append([]string{"init 0", "allreduce 0 1000 7 0 0 0 v", "sync"}, c.commands...)...)
			f := records(t, dir, c.files)[0]
			first := f.Communicators[0]
			if !strings.Contains(first.Failure, c.failure) || f.Written != "a communicator has failed" {
				t.Errorf("the failure is %q\n%s", first.Failure, r.output)
			}
			if n := len(first.Last); n != 2 || first.Last[0].State != "ended" || first.Last[1].State != "open" {
				t.Errorf("calls are %+v", first.Last)
			}
			if name != "abort" {
				return
			}
			for _, m := range metricsOf(t, dir, 2) {
				if n, _ := total(m, "mscclc_failures_total", "kind", "aborted"); n < 1 {
					t.Errorf("%v failures", n)
				}
			}
		})
	}
}

// TestFrontLastCallsBeforeTheError: a process that ends by _exit as soon as it receives an error has written its last
// calls, also to a slow folder, and mscclc doctor names the call.
func TestFrontLastCallsBeforeTheError(t *testing.T) {
	command, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env      string
		commands []string
		want     string
	}{
		"asks": {"MSCCLC_FEW=1", []string{"@0 allreduce 0 1000 7 0 0 0", "meet 1", "kill 1", "@0 untilerror 0", "@0 quit"},
			"call 2, ncclAllReduce of 1000 f32 sum, has not ended on rank 0: no file says whether rank 1 made it"},
		"calls": {"MSCCLC_FEW=1", []string{"meet 1", "kill 1", "@0 untilfails 0", "@0 quit"}, // it may fail before it begins
			"call 2, ncclAllReduce of 10 f32 sum, has not ended on rank 0: no file says whether rank 1 made it|" +
				"rank 0  native  2 calls  last: ncclAllReduce of 10 f32 sum"},
		"waits": {"MSCCLC_TIMEOUT=0.2", []string{"@0 allreduce 0 1000 7 0 0 0", "@0 untilerror 0", "@0 come 1", "@0 quit", "meet 1", "kill 1"},
			"call 2, ncclAllReduce of 1000 f32 sum, has not ended on rank 0: no file says whether rank 1 made it"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_METRICS=" + dir, c.env,
				"CLIENT_RENAME_MS=300"}}
			r := s.do(t, append([]string{"init 0", "allreduce 0 1000 7 0 0 0 v", "sync"}, c.commands...)...)
			names, _ := filepath.Glob(filepath.Join(dir, "*.calls.json"))
			cmd := exec.Command(command, "doctor", dir)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != 1 || !regexp.MustCompile(c.want).Match(out) || len(names) != 1 {
				t.Errorf("%v, %d files\n%s\n%s", err, len(names), out, r.output)
			}
		})
	}
}

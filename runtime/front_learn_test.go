package runtime_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"mscclc/bundle"
	"mscclc/executor/data"
)

// candidates writes a bundle whose rules are candidates, for calls that nobody measured.
func candidates(t *testing.T, ranks int) string {
	t.Helper()
	rules, _ := bundle.RulesFor(ranks, 4, nil, true)
	b, err := bundle.Build(bundle.Spec{Device: device, Ranks: []int{ranks}, DTypes: []data.DType{data.F32, data.I32},
		CTAs: 4, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return write(t, bundle.Encode(b))
}

// learner is a site whose bundle has candidates, beside an NCCL whose calls take a number of microseconds more.
func learner(t *testing.T, ranks, slow int, env ...string) site {
	return site{how: "preload", ranks: ranks, bundle: candidates(t, ranks),
		env: append([]string{"MSCCLC_DEBUG=INFO", fmt.Sprint("MSCCLC_FAKE_SLOW_US=", slow)}, env...)}
}

// count returns how many calls of a function NCCL had, which must be the same on all ranks.
func (r *run) count(t *testing.T, function string) int {
	t.Helper()
	counts := map[int]bool{}
	last := 0
	for _, notes := range r.notes {
		last = 0
		for _, n := range notes {
			if strings.HasPrefix(strings.Replace(n, "(group) ", "", 1), "nccl "+function+" ") {
				last++
			}
		}
		counts[last] = true
	}
	if len(counts) > 1 {
		t.Errorf("ranks differ in their calls of NCCL's %s: %v\n%s", function, counts, r.output)
	}
	return last
}

// TestFrontLearns: where NCCL is slow, all ranks take a candidate from the same call on, also for captured calls. Where
// it is fast, NCCL runs the calls.
func TestFrontLearns(t *testing.T) {
	for _, c := range []struct {
		ranks, each int
		late        bool
	}{{2, 0, false}, {4, 2, false}, {3, 3, true}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			s := learner(t, c.ranks, 1500)
			s.each, s.late = c.each, c.late
			const calls = 240
			r := s.do(t, "init 0", fmt.Sprint("repeat ", calls, " allgather 0 1000 7 0 0 0 v"), "sync", "capture 0",
				"allgather 0 999 7 0 0 0 v", "endcapture 0 3", "sync", "destroy 0").well(t)
			if n := r.count(t, "AllGather"); n < 7+64 || n >= calls {
				t.Errorf("NCCL has %d of %d calls\n%s", n, calls, r.output)
			}
			for _, want := range []string{`"chosen":"allgather/allpairs `, `"up_to":`, `"trials":`} {
				if !strings.Contains(r.stats, want) {
					t.Errorf("%q is not in the statistics: %s", want, r.stats)
				}
			}
			if n := strings.Count(r.output, "learned for ncclAllGather of up to"); n != c.ranks {
				t.Errorf("%d ranks say what they learned\n%s", n, r.output)
			}
		})
	}
}

// TestFrontKeepsNCCL: where NCCL is the fastest, or learning is off, or would change bits, NCCL runs the calls.
func TestFrontKeepsNCCL(t *testing.T) {
	const repeat = "repeat 130 allreduce 0 1000 %d 0 0 0"
	for _, c := range []struct {
		name        string
		ranks, slow int
		env         string
		dtype       int
		says        string
		learns      bool
	}{
		{"NCCL is fast", 2, 0, "", 7, "learned for ncclAllReduce of up to 4096 bytes: NCCL takes ", false},
		{"off", 2, 1500, "MSCCLC_LEARN=0", 7, "", false},
		{"equal runs", 2, 1500, "CUBLAS_WORKSPACE_CONFIG=:4096:8", 7,
			"does not learn which candidates are faster, since CUBLAS_WORKSPACE_CONFIG is set", false},
		{"two ranks", 2, 1500, "", 7, ": allreduce/", true},
		{"bits", 3, 1500, "", 7, "", false},
		{"integers", 3, 1500, "", 2, ": allreduce/", true},
		{"all", 3, 1500, "MSCCLC_LEARN=all", 7, ": allreduce/", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := learner(t, c.ranks, c.slow, c.env)
			s.threads = true
			r := s.do(t, "init 0", fmt.Sprintf(repeat, c.dtype), "sync", "destroy 0").well(t)
			if n := r.count(t, "AllReduce"); (n < 100) != c.learns || !strings.Contains(r.output, c.says) {
				t.Errorf("NCCL has %d calls, and %q is to be in the output\n%s\n%s", n, c.says, r.output, r.stats)
			}
		})
	}
}

// TestFrontCandidatesAlone: without NCCL, candidates are rules, and nothing is learned.
func TestFrontCandidatesAlone(t *testing.T) {
	s := site{how: "alone", ranks: 3, threads: true, bundle: candidates(t, 3)}
	r := s.do(t, "init 0", "repeat 40 allreduce 0 1000 7 0 0 0 v", "reduce 0 70 2 0 1 0 v", "sync", "destroy 0").well(t)
	if strings.Contains(r.stats, `"native":false`) || !strings.Contains(r.stats, `"learned":[]`) {
		t.Errorf("calls were: %s", r.stats)
	}
}

// TestFrontLearnSettings: ranks that learn differently do not use programs.
func TestFrontLearnSettings(t *testing.T) {
	s := learner(t, 2, 0)
	s.of = func(rank int) []string {
		return []string{[]string{"MSCCLC_LEARN=1", "MSCCLC_LEARN=all"}[rank]}
	}
	r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0", "sync", "destroy 0").well(t)
	if want := "ranks have different values of MSCCLC_LEARN: 1 on rank 0; all on rank 1"; !strings.Contains(r.output, want) {
		t.Errorf("%q is not in the output\n%s", want, r.output)
	}
}

// TestFrontLearned: a job begins with what an earlier one learned, on all ranks. A bad file is ignored, and one that is
// not of mscclc stays as it is, as does what is no regular file.
func TestFrontLearned(t *testing.T) {
	file := filepath.Join(t.TempDir(), "learned")
	s := learner(t, 3, 1500, "MSCCLC_LEARNED="+file)
	job := func(calls int) *run {
		return s.do(t, "init 0", fmt.Sprintf("repeat %d allgather 0 1000 7 0 0 0 v", calls), "sync", "destroy 0").well(t)
	}
	job(200)
	text, err := os.ReadFile(file)
	if err != nil || !regexp.MustCompile(`^mscclc-learned 1\n[^\n]+\nend 1\n$`).Match(text) {
		t.Fatalf("%v: %s", err, text)
	}
	if r := job(20); r.count(t, "AllGather") != 0 || !strings.Contains(r.stats, `"chosen":"allgather/`) {
		t.Errorf("NCCL has calls\n%s\n%s", r.output, r.stats)
	}
	s.env = append(s.env, wantsBits) // rules of another set, with other numbers
	job(200)
	s.env = s.env[:len(s.env)-1]
	if both, _ := os.ReadFile(file); !bytes.HasSuffix(both, []byte("\nend 2\n")) {
		t.Errorf("with MSCCLC_BITS the file is %s", both)
	}
	for _, bad := range []string{"mscclc-learned 1\n", "mscclc-learned 9\nend 0\n", string(text[:len(text)-3]), "#!/bin/sh\n"} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		r := job(200)
		if n := strings.Count(r.output, "is no file of what was learned, or it is damaged: it is ignored"); n < 1 {
			t.Errorf("%q has no warning\n%s", bad, r.output)
		}
		now, err := os.ReadFile(file)
		if ours := strings.HasPrefix(bad, "mscclc"); err != nil || ours == (string(now) == bad) {
			t.Errorf("%q becomes %q", bad, now)
		}
	}
	os.Remove(file)
	if err := syscall.Mkfifo(file, 0o600); err != nil { // which nobody reads or writes: opening it would wait
		t.Fatal(err)
	}
	if r := job(200); !strings.Contains(r.output, "is no regular file: nothing is kept") {
		t.Errorf("a pipe has no warning\n%s", r.output)
	}
	if info, err := os.Lstat(file); err != nil || info.Mode().IsRegular() {
		t.Errorf("the pipe is %v: %v", info, err)
	}
}

// TestFrontLearnsRandom: several communicators of processes and of threads make random calls on four streams, in groups
// and graphs, while they learn. All results are right, and NCCL has as many calls on all ranks.
func TestFrontLearnsRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(37, 1))
	for _, c := range []struct{ ranks, each int }{{2, 0}, {3, 3}, {4, 2}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			s := learner(t, c.ranks, 300, "MSCCLC_DEBUG=WARN", "MSCCLC_LEARN=all")
			s.each = c.each
			commands := []string{"init 0", "init 1", "init 2"}
			for range 60 {
				commands = append(commands, randomGathers(random)...)
			}
			r := s.do(t, append(commands, "sync", "destroy 1", "destroy 0", "destroy 2")...).well(t)
			r.count(t, "AllGather")
			if !strings.Contains(r.stats, `"chosen":"allgather/`) {
				t.Errorf("nothing is learned: %s", r.stats)
			}
			if c.each > 0 {
				return
			}
			for range 3 { // a rank is killed meanwhile
				commands = append(commands[:3+random.IntN(len(commands)-3)], "sync")
				r = s.do(t, append(closed(commands), "kill 1", "timed abort 2", "timed abort 0", "timed abort 1")...)
				if r.failed[0] != nil || r.failed[1] == nil {
					t.Errorf("ranks end with %v\n%s", r.failed, r.output)
				}
				r.patient(t, "abort", 1500*time.Millisecond)
			}
		})
	}
}

// closed leaves out a group or a capture at the end of commands, before their last one.
func closed(commands []string) []string {
	end := len(commands) - 1
	for i, c := range commands {
		if c == "start" || strings.HasPrefix(c, "capture ") {
			end = i
		} else if c == "end" || strings.HasPrefix(c, "endcapture ") {
			end = len(commands) - 1
		}
	}
	return append(commands[:end:end], "sync")
}

// randomGathers returns some calls on one of three communicators: alone, in a group, or in a graph. The mock NCCL moves
// no data in graphs, nor those of AllReduce.
func randomGathers(random *rand.Rand) []string {
	comm, stream := random.IntN(3), random.IntN(4)
	call := func(flags string) string {
		count := []int{100, 1000, 3000}[random.IntN(3)] - random.IntN(20)
		return fmt.Sprintf("allgather %d %d 7 0 0 %d %s", comm, count, stream, flags)
	}
	verified := []string{"v", "vi", "vu", "vm"}[random.IntN(4)]
	switch random.IntN(5) {
	case 0:
		return []string{"start", call(verified), fmt.Sprintf("allreduce %d 1000 7 0 0 %d", comm, stream), "end"}
	case 1:
		return []string{fmt.Sprint("capture ", stream), call(""), fmt.Sprint("endcapture ", stream, " 2"), "sync"}
	case 2:
		return []string{"start", call(verified), "end"}
	}
	return []string{fmt.Sprint("repeat ", 1+random.IntN(24), " ", call(verified))}
}

// TestFrontLearnsEnds: a rank leaves, aborts or is killed at any time while ranks learn. Nothing hangs.
func TestFrontLearnsEnds(t *testing.T) {
	t.Parallel()
	const most = 3 * time.Second // each launch that leaves takes 10 ms or more
	for i, calls := range []int{1, 27, 28, 29, 31, 60, 95, 120} {
		s := learner(t, 3, 200, "MSCCLC_DEBUG=WARN")
		call := fmt.Sprintf("repeat %d allgather 0 1000 7 0 0 0", calls)
		s.do(t, "init 0", call, "destroy 0").well(t)
		s.do(t, "init 0", call, "timed abort 0", "init 1", "allgather 1 1000 7 0 0 0 v", "sync", "destroy 1").well(t).
			patient(t, "abort", most)
		dies := i % 3
		r := s.do(t, "init 0", call, "sync", fmt.Sprint("kill ", dies), "sleep 200", "timed abort 0")
		for rank, err := range r.failed {
			if (err != nil) != (rank == dies) {
				t.Errorf("after %d calls: rank %d ends with %v\n%s", calls, rank, err, r.output)
			}
		}
		r.patient(t, "abort", most)
	}
}

// TestFrontLearnsApart: the root of broadcasts has made all its calls and leaves, while the others are late. No call
// waits for one of its own.
func TestFrontLearnsApart(t *testing.T) {
	t.Parallel()
	s := learner(t, 3, 300, "MSCCLC_DEBUG=WARN")
	for _, root := range []int{0, 2} {
		commands := []string{"init 0"}
		for rank := range 3 {
			if rank != root {
				commands = append(commands, fmt.Sprintf("@%d sleep 200", rank))
			}
		}
		commands = append(commands, fmt.Sprintf("repeat 200 broadcast 0 1000 7 0 %d 0", root), "sync", "destroy 0")
		r := s.do(t, commands...).well(t)
		r.count(t, "Broadcast")
	}
}

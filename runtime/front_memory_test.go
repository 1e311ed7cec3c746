package runtime_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mscclc/bundle"
	"mscclc/executor/data"
)

// late is a site whose communicators make their memory after the first call, as jobs have it.
func late(t *testing.T, ranks int, env ...string) site {
	return site{how: "preload", ranks: ranks, late: true, bundle: wholeBundle(t, ranks), env: env}
}

// TestFrontSwitches: a communicator begins with NCCL, and all its ranks go over to their programs at the same call, by
// processes and threads, outside and inside of groups. Captured calls do not ask for memory.
func TestFrontSwitches(t *testing.T) {
	for _, c := range []struct {
		ranks   int
		threads bool
		how     string
	}{{2, false, "preload"}, {3, true, "preload"}, {4, false, "forward"}} {
		t.Run(fmt.Sprint(c.how, c.ranks, c.threads), func(t *testing.T) {
			s := late(t, c.ranks)
			s.how, s.threads = c.how, c.threads
			r := s.do(t, "init 0", "init 1", "capture 0", "allreduce 0 1000 7 0 0 0", "endcapture 0 1", "warm 0",
				"allreduce 0 1000 7 0 0 0 v", "start", "allreduce 0 100000 7 0 0 0 v", "allgather 0 999 7 0 0 1 v", "end",
				"capture 0", "allreduce 0 1000 7 0 0 0 v", "endcapture 0 3", "sync",
				"warm 1 group", "allgather 1 1000 7 0 0 0 v", "sync", "destroy 0", "destroy 1").well(t)
			froms := regexp.MustCompile(`rank \d: communicator (\d) runs programs from call (\d+)`).FindAllStringSubmatch(r.output, -1)
			if len(froms) != 2*c.ranks {
				t.Fatalf("not all ranks went over to their programs:\n%s", r.output)
			}
			first := map[string]string{}
			for _, f := range froms {
				if first[f[1]] == "" {
					first[f[1]] = f[2]
				}
				if n, _ := strconv.Atoi(f[2]); n <= 65 || first[f[1]] != f[2] {
					t.Errorf("ranks differ about the call, or it is too early: %q", f[0])
				}
			}
			for rank, notes := range r.notes {
				if n := strings.Count(strings.Join(notes, "\n"), "nccl AllGather"); n != 0 {
					t.Errorf("rank %d: NCCL has %d AllGathers", rank, n)
				}
			}
		})
	}
}

// TestFrontLateCosts: communicators that only send and receive, or whose calls are captured, have no memory of a GPU,
// and neither have those that nobody calls.
func TestFrontLateCosts(t *testing.T) {
	s := late(t, 2)
	s.env = append(s.env, "MSCCLC_ARENA_AT=first")
	free := func(commands ...string) int {
		r := s.do(t, append(append([]string{"init 1", "room"}, commands...), "sleep 200", "meet 9", "room")...).well(t)
		kib := regexp.MustCompile(`rank 0: (\d+) KiB are free`).FindAllStringSubmatch(r.output, -1)
		before, _ := strconv.Atoi(kib[0][1])
		after, _ := strconv.Atoi(kib[1][1])
		return before - after
	}
	// A call makes buffers of its own, which are small.
	const small = 64
	if n := free("init 0", "split 0 2 2", "start", "send 0 10 7 0 0 0", "recv 0 10 7 0 0 0", "end"); n > small {
		t.Errorf("a communicator that sends and receives has %d KiB", n)
	}
	if n := free("init 0", "capture 0", "allreduce 0 10 7 0 0 0", "endcapture 0 1"); n > small {
		t.Errorf("a communicator whose calls are captured has %d KiB", n)
	}
	if n := free("init 0", "allreduce 0 10 7 0 0 0", "sleep 800"); n <= small {
		t.Errorf("a communicator with an eager call has %d KiB", n)
	}
}

// TestFrontLatePeer: where a rank is late by seconds, or never calls, calls of the others do not wait for it.
func TestFrontLatePeer(t *testing.T) {
	t.Parallel()
	s := late(t, 3)
	commands := []string{"init 0", "@1 sleep 2500"}
	for range 200 {
		commands = append(commands, "@0 timed allreduce 0 10 7 0 0 0", "@2 allreduce 0 10 7 0 0 0")
	}
	for range 200 {
		commands = append(commands, "@1 allreduce 0 10 7 0 0 0")
	}
	r := s.do(t, append(commands, "warm 0", "allreduce 0 1000 7 0 0 0 v", "sync", "destroy 0")...).well(t)
	r.within(t, "allreduce", 1000)
	s = late(t, 2)
	s.do(t, "init 0", "@0 allreduce 0 10 7 0 0 0", "timed destroy 0").well(t).within(t, "destroy", 1500)
}

// TestFrontLateEnds: a communicator is aborted, or a rank is killed, at any time while memory is made: nothing hangs,
// and the others' next communicator works.
func TestFrontLateEnds(t *testing.T) {
	t.Parallel()
	for _, ms := range []int{0, 3, 10, 30, 100, 300} {
		wait := fmt.Sprint("sleep ", ms)
		s := late(t, 3)
		r := s.do(t, "init 0", "allreduce 0 10 7 0 0 0", wait, "timed abort 0", "init 1", "warm 1",
			"allreduce 1 1000 7 0 0 0 v", "sync", "destroy 1").well(t)
		r.patient(t, "abort", 1500*time.Millisecond)
		r = s.do(t, "init 0", "allreduce 0 10 7 0 0 0", wait, "kill 1", "allreduce 0 10 7 0 0 0", "sleep 300", "timed abort 0")
		for rank, err := range r.failed {
			if (err != nil) != (rank == 1) {
				t.Errorf("after %d ms: rank %d ends with %v\n%s", ms, rank, err, r.output)
			}
		}
		r.patient(t, "abort", 1500*time.Millisecond)
	}
}

// TestFrontArena: MSCCLC_ARENA bounds the memory of all communicators of a process. What has no room is NCCL's, with
// one warning, and a communicator that ends gives its room back.
func TestFrontArena(t *testing.T) {
	b := makeBundle(t, []data.DType{data.F32}, 1, 2)
	one := b.Sets[0].Arena + 4<<20
	s := site{how: "preload", ranks: 2, bundle: write(t, bundle.Encode(b)), env: []string{fmt.Sprint("MSCCLC_ARENA=", one)}}
	for _, first := range []bool{false, true} {
		s.late = first
		warm := func(comm int) string {
			return fmt.Sprint(map[bool]string{true: "warm ", false: "allreduce "}[first], comm, " 10 7 0 0 0")
		}
		r := s.do(t, "init 0", warm(0), "init 1", "allreduce 1 10 7 0 0 0", "sleep 500", "meet 0", "allreduce 1 10 7 0 0 0",
			"allreduce 0 1000 7 0 0 0 v", "sync", "destroy 0", "meet 1", "init 2", warm(2), "allreduce 2 1000 7 0 0 0 v", "sync",
			"destroy 2", "destroy 1").well(t)
		want := fmt.Sprint(" bytes of the GPU, and MSCCLC_ARENA=", one, " leaves ")
		if strings.Count(r.output, "NCCL runs all calls") != 1 || !strings.Contains(r.output, want) {
			t.Errorf("the output has no warning of %q:\n%s", want, r.output)
		}
	}
}

// TestFrontSkip: MSCCLC_SKIP leaves communicators to NCCL by their size and name.
func TestFrontSkip(t *testing.T) {
	for _, c := range []struct {
		skip, name string
		taken      bool
	}{{"size<3", "", true}, {"size=3,size>2", "", false}, {"name:pp*", "pp_0", true}, {"name:pp*", "dp_0", false}, {"size>7,name:d?_0", "dp_0", true}} {
		s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_SKIP=" + c.skip, "CLIENT_NAME=" + c.name}}
		r := s.do(t, "init 0 1 0", "allreduce 0 10 7 0 0 0", "destroy 0").well(t)
		if taken := strings.Contains(r.output, "MSCCLC_SKIP has "); taken != c.taken || taken == strings.Contains(r.stats, `"native":true`) {
			t.Errorf("%s and %q: %s\n%s", c.skip, c.name, r.stats, r.output)
		}
	}
	s := site{how: "preload", ranks: 1, bundle: "none", env: []string{"MSCCLC_SKIP=size<2,sice=4", "MSCCLC_ARENA=12X", "MSCCLC_ARENA_AT=now"}}
	r := s.do(t, "init 0").well(t)
	for _, want := range []string{`MSCCLC_SKIP has "sice=4", which is left out: terms are `, `MSCCLC_ARENA="12X" is not a number of bytes from 0 to 2^64-1, `, `MSCCLC_ARENA_AT="now" is not init or first`} {
		if strings.Count(r.output, want) != 1 {
			t.Errorf("%q is not once in the output:\n%s", want, r.output)
		}
	}
}

// TestFrontLateWindows: registering a window makes the memory at once, and calls use it when programs run.
func TestFrontLateWindows(t *testing.T) {
	b := makeDirect(t, []data.DType{data.F32}, 4, 2)
	s := site{how: "preload", ranks: 2, late: true, bundle: write(t, bundle.Encode(b))}
	r := s.do(t, "init 0", "memory 0 plain 100000", "window 0 0 0 0 100000", "warm 0 window", "sync", "destroy 0").well(t)
	if !strings.Contains(r.stats, `"function":"ncclCommWindowRegister","native":true`) {
		t.Errorf("calls were: %s\n%s", r.stats, r.output)
	}
}

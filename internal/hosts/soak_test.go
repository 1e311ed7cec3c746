//go:build linux

package hosts_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"mscclc/internal/covering"
	"mscclc/internal/hosts"
)

// soakVariable names the environment variable that says how long TestSoak takes.
const soakVariable = "MSCCLC_SOAK"

// dtypes are the types of elements.
var dtypes = []string{"f32", "f16", "bf16", "f64", "i8", "u8", "i32", "u32", "i64", "u64", "e4m3", "e5m2"}

// TestSoak runs programs of several nodes again and again while hosts and processes fail at random, at most three times
// a job. Results are right, or all processes end with an error, soon. No process is left, and no file in shared memory.
// From two minutes on the hosts are odd, too (soak_odd_test.go).
func TestSoak(t *testing.T) {
	hasUCX(t)
	limit := 10 * time.Second
	if covering.CI() {
		limit = 20 * time.Second
	}
	if text := os.Getenv(soakVariable); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	engines := []string{"UCX_TLS=tcp,self", "UCX_TLS=posix,self", "MSCCLC_NET=ncclnet:" + plugin(t)}
	s := soak{n: hosts.New(t, 2), random: rand.New(rand.NewPCG(seed, 2)), odd: limit >= 2*time.Minute}
	if s.odd {
		makeOdd(t, s.n)
	}
	before := inSharedMemory()
	for begin := time.Now(); time.Since(begin) < limit && !t.Failed(); {
		s.round(t, engines[s.random.IntN(len(engines))])
	}
	if left := inSharedMemory(); len(left) > len(before) {
		t.Errorf("left in shared memory: %v", left)
	}
	t.Logf("%d runs without a fault and %d with faults were right, and %d ended with an error: %v", s.calm, s.right,
		s.failed, s.faults)
}

// inSharedMemory are files that UCX makes for processes of this machine.
func inSharedMemory() []string {
	list, _ := filepath.Glob("/dev/shm/ucx_shm*")
	return list
}

// A soak is what TestSoak has done so far.
type soak struct {
	n                   *hosts.Network
	random              *rand.Rand
	odd                 bool
	calm, right, failed int            // jobs
	faults              map[string]int // by kind
}

// A trial is a job of a soak, and what was done to it.
type trial struct {
	*job
	port              int // where it meets
	args, env, faults []string
	mild              bool // nothing was done that may be an error
}

// command returns what a job runs.
func (s *soak) command() []string {
	pick := func(list ...string) string { return list[s.random.IntN(len(list))] }
	args := []string{"run", pick(spanning...), "-p", "nodes=2", "-p", "gpus=2", "--iters", "40", "--timeout", "10s",
		"--bytes", fmt.Sprint(16 + s.random.IntN(1000)<<s.random.IntN(10)), "--dtype", pick(dtypes...),
		"--op", pick("sum", "prod", "min", "max")}
	if s.random.IntN(2) == 0 {
		return append(args, "--sided", "lowered", "--protocol", "Simple")
	}
	return append(args, "--sided", "one", "--nodes", "2", "--lanes", pick("1", "3"))
}

// begin starts a job.
func (s *soak) begin(t *testing.T, engine string) *trial {
	t.Helper()
	r := &trial{args: s.command(), mild: true,
		env: []string{engine, briefly, fmt.Sprint("MSCCLC_NET_THREADS=", s.random.IntN(3))}}
	if s.odd {
		r.env = append(r.env, s.oddPlace()...)
	}
	r.job = start(t, s.n, 2, r.env, r.args...)
	r.port = ports
	return r
}

// round runs a job, or two at once.
func (s *soak) round(t *testing.T, engine string) {
	t.Helper()
	trials := []*trial{s.begin(t, engine)}
	if s.odd && s.random.IntN(4) == 0 {
		trials = append(trials, s.begin(t, engine))
		s.count("two jobs at once")
	}
	for range s.random.IntN(4) {
		time.Sleep(time.Duration(100+s.random.IntN(700)) * time.Millisecond)
		s.fault(t, trials)
	}
	for _, r := range trials {
		s.judge(t, r)
	}
	file, _ := program()
	if left := running(file); len(left) > 0 {
		t.Errorf("%v, faults %v: processes %v are left", trials[0].args, trials[0].faults, left)
	}
}

// judge waits for a job, and says whether it ended as it may.
func (s *soak) judge(t *testing.T, r *trial) {
	t.Helper()
	codes := r.within(t, time.Minute)
	said := ""
	for i := range r.out {
		said += fmt.Sprintf("process %d: %s\n", i, r.out[i].String())
	}
	right := codes[0] == 0 && strings.Contains(r.out[0].String(), " 0 wrong")
	if codes[0] == 0 && !right || !right && r.mild || regexp.MustCompile(`wrong-result| [1-9]\d* wrong`).MatchString(said) {
		t.Errorf("%v %v, faults %v: %v: %s", r.env, r.args, r.faults, codes, said)
	}
	switch {
	case !right:
		s.failed++
	case len(r.faults) > 0:
		s.right++
	default:
		s.calm++
	}
}

func (s *soak) count(fault string) {
	if s.faults == nil {
		s.faults = map[string]int{}
	}
	s.faults[fault]++
}

// suffers notes a fault of a job, and whether the job must be right nevertheless.
func (s *soak) suffers(r *trial, harmless bool, kind, about string) {
	s.count(kind)
	r.faults, r.mild = append(r.faults, kind+about), r.mild && harmless
}

// fault has a process of one of the jobs fail, or a link of all.
func (s *soak) fault(t *testing.T, trials []*trial) {
	t.Helper()
	r := trials[s.random.IntN(len(trials))]
	who := s.random.IntN(len(r.processes))
	kinds := 4
	if s.odd {
		kinds = 6
	}
	switch s.random.IntN(kinds) {
	case 0:
		r.processes[who].Process.Kill()
		s.suffers(r, false, "kill", fmt.Sprint(" ", who))
	case 1, 2:
		took := time.Duration(s.random.IntN(1500)) * time.Millisecond
		r.processes[who].Process.Signal(syscall.SIGSTOP)
		time.Sleep(took)
		r.processes[who].Process.Signal(syscall.SIGCONT)
		s.suffers(r, true, "stop", fmt.Sprintf(" %d for %v", who, took))
	case 3:
		took := time.Duration(s.random.IntN(1000)) * time.Millisecond
		if s.odd {
			took *= 10 // as long as outages last
		}
		host := s.random.IntN(len(s.n.Hosts))
		s.n.Hosts[host].Cut(t)
		time.Sleep(took)
		s.n.Hosts[host].Mend(t)
		for _, r := range trials {
			s.suffers(r, false, "outage", fmt.Sprintf(" of %d for %v", host, took))
		}
	case 4:
		s.strange(t, r)
	case 5:
		s.starve(t, r, who)
	}
}

// running returns the processes of this machine that run a program.
func running(file string) (list []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range all {
		if at, err := os.Readlink(link); err == nil && at == file {
			list = append(list, link)
		}
	}
	return list
}

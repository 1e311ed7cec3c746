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

	"mscclc/internal/hosts"
)

// soakVariable names the environment variable that says how long TestSoak takes.
const soakVariable = "MSCCLC_SOAK"

// dtypes are the types of elements.
var dtypes = []string{"f32", "f16", "bf16", "f64", "i8", "u8", "i32", "u32", "i64", "u64", "e4m3", "e5m2"}

// TestSoak runs programs of several nodes again and again while hosts and processes fail at random, at most three times
// a job. Results are right, or all processes end with an error, soon. No process is left, and no file in shared memory.
func TestSoak(t *testing.T) {
	hasUCX(t)
	limit := 20 * time.Second
	if text := os.Getenv(soakVariable); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	engines := []string{"UCX_TLS=tcp,self", "UCX_TLS=posix,self", "MSCCLC_NET=ncclnet:" + plugin(t)}
	s := soak{n: hosts.New(t, 2), random: rand.New(rand.NewPCG(seed, 2))}
	before := inSharedMemory()
	for begin := time.Now(); time.Since(begin) < limit && !t.Failed(); {
		s.job(t, engines[s.random.IntN(len(engines))])
	}
	if left := inSharedMemory(); len(left) > len(before) {
		t.Errorf("left in shared memory: %v", left)
	}
	t.Logf("%d runs without a fault and %d with faults were right, and %d ended with an error", s.calm, s.right, s.failed)
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
	calm, right, failed int // jobs
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

// job runs one.
func (s *soak) job(t *testing.T, engine string) {
	t.Helper()
	args := s.command()
	j := start(t, s.n, 2, []string{engine, briefly, fmt.Sprint("MSCCLC_NET_THREADS=", s.random.IntN(3))}, args...)
	var faults []string
	mild := true // so far nothing was done that may be an error
	for range s.random.IntN(4) {
		time.Sleep(time.Duration(100+s.random.IntN(700)) * time.Millisecond)
		what, harmless := s.fault(t, j)
		faults, mild = append(faults, what), mild && harmless
	}
	codes := j.within(t, time.Minute)
	said := ""
	for i := range j.out {
		said += fmt.Sprintf("process %d: %s\n", i, j.out[i].String())
	}
	right := codes[0] == 0 && strings.Contains(j.out[0].String(), " 0 wrong")
	if codes[0] == 0 && !right || !right && mild || regexp.MustCompile(`wrong-result| [1-9]\d* wrong`).MatchString(said) {
		t.Errorf("%s %v, faults %v: %v: %s", engine, args, faults, codes, said)
	}
	file, _ := program()
	if left := running(file); len(left) > 0 {
		t.Errorf("%v, faults %v: processes %v are left", args, faults, left)
	}
	switch {
	case !right:
		s.failed++
	case len(faults) > 0:
		s.right++
	default:
		s.calm++
	}
}

// fault has a process or a link of a job fail. It says what it did, and whether the job must be right nevertheless.
func (s *soak) fault(t *testing.T, j *job) (what string, harmless bool) {
	t.Helper()
	who := s.random.IntN(len(j.processes))
	switch s.random.IntN(4) {
	case 0:
		j.processes[who].Process.Kill()
		return fmt.Sprint("kill ", who), false
	case 1, 2:
		took := time.Duration(s.random.IntN(1500)) * time.Millisecond
		j.processes[who].Process.Signal(syscall.SIGSTOP)
		time.Sleep(took)
		j.processes[who].Process.Signal(syscall.SIGCONT)
		return fmt.Sprintf("stop %d for %v", who, took), true
	}
	took := time.Duration(s.random.IntN(1000)) * time.Millisecond
	host := s.random.IntN(len(s.n.Hosts))
	s.n.Hosts[host].Cut(t)
	time.Sleep(took)
	s.n.Hosts[host].Mend(t)
	return fmt.Sprintf("cut %d for %v", host, took), false
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

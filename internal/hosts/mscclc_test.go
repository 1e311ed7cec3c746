//go:build linux

package hosts_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mscclc/internal/hosts"
)

// These tests run the command on several hosts, with two processes on each, as its users do.

// program is mscclc, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "mscclc-hosts")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "mscclc")
	out, err := exec.Command("go", "build", "-o", file, "mscclc/cmd/mscclc").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return file, err
})

func hasUCX(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("ldconfig", "-p").Output(); err != nil || !strings.Contains(string(out), "libucp.so.0") {
		t.Skip("UCX is not installed (Debian: libucx0)")
	}
}

// A job is processes of one run of mscclc, dealt to hosts in equal blocks.
type job struct {
	processes []*exec.Cmd
	out       []output // of each: what it says on both of its outputs
}

// An output may be read while it is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to it.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns what was written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

var ports = 20000

// start starts a job. The hosts are the nodes.
func start(t *testing.T, n *hosts.Network, perHost int, env []string, args ...string) *job {
	t.Helper()
	return startEach(t, n, perHost, func(int) []string { return env }, args...)
}

// startEach is start where env returns the variables of a process.
func startEach(t *testing.T, n *hosts.Network, perHost int, env func(process int) []string, args ...string) *job {
	t.Helper()
	file, err := program()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ports++
	count := perHost * len(n.Hosts)
	j := &job{out: make([]output, count)}
	for i := range count {
		c := n.Hosts[i/perHost].Command(ctx, file, args...)
		c.Env = append(append(os.Environ(), "MSCCLC_CACHE=off", "UCX_TLS=tcp,self", "PLUGIN_ADDRESS="+n.Hosts[i/perHost].Address,
			fmt.Sprintf("MSCCLC_NODE=host%d", i/perHost),
			fmt.Sprintf("MSCCLC_HUB=%s:%d", n.Hosts[0].Address, ports), fmt.Sprintf("MSCCLC_INDEX=%d", i),
			fmt.Sprintf("MSCCLC_SIZE=%d", count)), env(i)...)
		c.Stdout, c.Stderr = &j.out[i], &j.out[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		j.processes = append(j.processes, c)
		t.Cleanup(func() { c.Process.Kill() })
	}
	return j
}

// wait returns the exit code of each process.
func (j *job) wait() (codes []int) {
	for _, c := range j.processes {
		c.Wait()
		codes = append(codes, c.ProcessState.ExitCode())
	}
	return codes
}

// must checks that a job goes well, with 0 wrong elements.
func (j *job) must(t *testing.T, args []string) {
	t.Helper()
	for i, code := range j.wait() {
		if code != 0 || i == 0 && !regexp.MustCompile(`runs on \d nodes, by (?s:.*) 0 wrong`).MatchString(j.out[i].String()) {
			t.Errorf("%s: process %d ended with %d: %s", strings.Join(args, " "), i, code, j.out[i].String())
		}
	}
}

// Programs that span nodes, of the catalog; their ranks are all processes. size counts the elements that calls move.
var spanning = []string{
	"allgather/hierarchical", "allgather/multinode_allpairs", "allreduce/hierarchical", "allreduce/multinode_allpairs",
	"allreduce/twophase_hierarchical", "allreduce/twophase_hierarchical_ll", "alltoall/two_step", "alltoall/three_step",
	"alltonext/backward", "alltonext/direct", "alltonext/forward", "reducescatter/hierarchical",
	"reducescatter/multinode_allpairs",
}

// width returns how many bytes an element has.
func width(dtype string) int {
	bits, err := strconv.Atoi(strings.TrimLeft(dtype, "abfiu"))
	if err != nil { // e4m3 and e5m2
		return 1
	}
	return bits / 8
}

// TestPrograms runs all programs of several nodes on two, three or four hosts: lowered from two-sided ones, and
// one-sided ones that are compiled for the nodes. Types and sizes take turns.
func TestPrograms(t *testing.T) {
	hasUCX(t)
	sizes := []int{1001, 72000, 131, 65537, 308640, 4096, 333} // elements; seven, so that all types have all
	turn := 0
	for _, count := range []int{2, 3, 4} {
		n := hosts.New(t, count)
		for k, name := range append(spanning, "allreduce/ring", "allgather/ring", "broadcast/chain") {
			if count != 2 && k%3 != count%3 {
				continue // two hosts run all, and the others share them
			}
			for _, sided := range [][]string{{"--sided", "lowered", "--protocol", "Simple"},
				{"--sided", "one", "--nodes", fmt.Sprint(count), "--lanes", fmt.Sprint(1 + turn%3*2)}} {
				dtype := dtypes[turn%len(dtypes)]
				args := append([]string{"run", name, "--bytes", fmt.Sprint(sizes[turn%len(sizes)] * width(dtype)),
					"--dtype", dtype, "--timeout", "60s"}, sided...)
				if k < len(spanning) {
					args = append(args, "-p", fmt.Sprintf("nodes=%d", count), "-p", "gpus=2")
				} else {
					args = append(args, "--ranks", fmt.Sprint(2*count))
				}
				env := []string{fmt.Sprint("MSCCLC_NET_THREADS=", turn/2%3)} // with and without helper threads
				turn++
				j := start(t, n, 2, env, args...)
				j.must(t, args)
				text, talks := j.out[0].String(), strings.HasPrefix(name, "allreduce/") // process 0 with other hosts
				if !strings.Contains(text, fmt.Sprintf("%d nodes, by UCX", count)) ||
					talks && !strings.Contains(text, ": tcp/eth0") {
					t.Errorf("%s: UCX did not take TCP over the hosts' cards: %s", name, text)
				}
			}
		}
	}
}

// TestByName runs and measures collectives by their names, on two hosts and on three: programs are chosen for these.
func TestByName(t *testing.T) {
	hasUCX(t)
	two, three := hosts.New(t, 2), hosts.New(t, 3)
	for i, name := range []string{"allgather", "allreduce", "alltoall", "broadcast", "gather", "reduce", "reducescatter",
		"scatter", "sendrecv"} {
		n := []*hosts.Network{two, three}[i%2]
		args := []string{"run", name, "-p", fmt.Sprintf("ranks=%d", 2*len(n.Hosts)), "--bytes", "1000,200K"}
		start(t, n, 2, nil, args...).must(t, args)
	}
	args := []string{"bench", "allreduce", "--ranks", "4", "-b", "4K", "-e", "64K"}
	j := start(t, two, 2, nil, args...)
	for i, code := range j.wait() {
		if text := j.out[i].String(); code != 0 || i == 0 && !strings.Contains(text, "Out of bounds values : 0 OK") {
			t.Errorf("process %d ended with %d: %s", i, code, text)
		}
	}
}

// TestMeasure measures the network of two hosts, and simulates a program with what was written.
func TestMeasure(t *testing.T) {
	hasUCX(t)
	dir := t.TempDir()
	topo, costs := filepath.Join(dir, "here.topo"), filepath.Join(dir, "here.json")
	j := start(t, hosts.New(t, 2), 2, nil, "topo", "--measure", "-o", topo, "--costs", costs)
	for i, code := range j.wait() {
		if text := j.out[i].String(); code != 0 || i == 0 && !strings.Contains(text, "2 nodes of 2 processes, by UCX") {
			t.Errorf("process %d ended with %d: %s", i, code, text)
		}
	}
	file, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(file, "simulate", "allreduce/hierarchical", "-p", "nodes=2", "-p", "gpus=2", "--nodes", "2",
		"--topology", topo, "--costs", costs).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "allreduce of 4 ranks on here") {
		t.Errorf("%v: %s", err, out)
	}
}

// plugin returns the file of the tests' net plugin, built for one test.
func plugin(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plugin.so")
	if out, err := exec.Command("g++", "-std=c++17", "-DVERSION=10", "-shared", "-fPIC", "-o", file,
		"../../transport/testdata/plugin.cc").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// TestEngines runs all programs of several nodes over UCX's shared memory, and over a net plugin of NCCL's, which is
// that of the tests.
func TestEngines(t *testing.T) {
	n, turn := hosts.New(t, 2), 0
	for _, env := range []string{"UCX_TLS=posix,self", "MSCCLC_NET=ncclnet:" + plugin(t)} {
		if strings.HasPrefix(env, "UCX") {
			hasUCX(t)
		}
		for _, name := range spanning {
			for _, sided := range [][]string{{"--sided", "lowered", "--protocol", "Simple"},
				{"--sided", "one", "--nodes", "2"}} {
				dtype := dtypes[turn%len(dtypes)]
				args := append([]string{"run", name, "-p", "nodes=2", "-p", "gpus=2", "--dtype", dtype, "--bytes",
					fmt.Sprint([]int{75001, 131, 1001, 4096, 333}[turn%5] * width(dtype))}, sided...)
				turn++
				start(t, n, 2, []string{env}, args...).must(t, args)
			}
		}
	}
}

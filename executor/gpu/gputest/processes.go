package gputest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mscclc/internal/covering"
	"mscclc/ir"
)

// address returns a free one of this machine.
func address(t testing.TB) string {
	t.Helper()
	ear, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ear.Close()
	return ear.Addr().String()
}

// startJob starts three processes of a job, of which change may make some different.
func startJob(t testing.TB, do string, proto ir.Protocol, change func(*role)) []*running {
	t.Helper()
	at := address(t)
	var list []*running
	for i := range 3 {
		r := role{Do: do, Address: at, Index: i, Size: 3, Proto: proto}
		if change != nil {
			change(&r)
		}
		list = append(list, start(t, r))
	}
	return list
}

// testProcesses has a process for each rank.
func testProcesses(t *testing.T, _ Device) {
	for _, proto := range []ir.Protocol{ir.LL, ir.Simple} {
		for _, two := range []bool{false, true} {
			for i, c := range startJob(t, "rank", proto, func(r *role) { r.Two = two }) {
				if code, said := c.end(t); code != 0 {
					t.Errorf("%v, two-sided %v, process %d: %s", proto, two, i, said)
				}
			}
		}
	}
}

// testProcessesDiffer has process 1 differ from the others: all of them say so, soon.
func testProcessesDiffer(t *testing.T, d Device) {
	for _, c := range []struct {
		name, want string
		change     func(*role)
	}{
		{"program", "different programs", func(r *role) { r.Proto = ir.LL128 }},
		{"sides", "different programs", func(r *role) { r.Two = true }},
		{"count", "process 1 counts 4 processes", func(r *role) { r.Size = 4 }},
		{"memory", "out of memory", func(r *role) { r.Env = append(r.Env, "MSCCLC_STANDIN_MEMORY=100000") }},
	} {
		if c.name == "memory" && !d.StandIn() {
			continue
		}
		begin := time.Now()
		for i, p := range startJob(t, "rank", ir.LL, func(r *role) {
			if r.Index == 1 {
				c.change(r)
			}
			if c.name == "count" { // who comes when the hub has left waits for another
				r.Wait = 3 * time.Second
			}
		}) {
			code, said := p.end(t)
			if code != 1 || !strings.Contains(said, c.want) && !(c.name == "count" && i > 0) {
				t.Errorf("%s, process %d: %d %s", c.name, i, code, said)
			}
		}
		if took := time.Since(begin); took > 50*time.Second {
			t.Errorf("%s: it took %v", c.name, took)
		}
	}
}

// testLines: GPUs without NVLink run no lines of 128 bytes, and packets of words. All processes say why.
func testLines(t *testing.T, d Device) {
	if !d.StandIn() {
		t.Skip("the links of a device cannot be changed")
	}
	for _, proto := range []ir.Protocol{ir.LL128, ir.LL} {
		for _, two := range []bool{false, true} {
			for i, p := range startJob(t, "rank", proto, func(r *role) {
				r.Two, r.Env = two, append(r.Env, "MSCCLC_STANDIN_PCIE=1")
			}) {
				code, said := p.end(t)
				refused := code == 1 && strings.Contains(said, "protocol LL128 needs NVLink between GPU ")
				if refused != (proto == ir.LL128 && d.Name == "cuda") || !refused && code != 0 {
					t.Errorf("%v, two-sided %v, process %d: %d %s", proto, two, i, code, said)
				}
			}
		}
	}
}

// testHosted: GPUs that do not access each other's memory, or are not to, share memory of the host. Lines do not run.
func testHosted(t *testing.T, d Device) {
	list := []string{"MSCCLC_P2P_DISABLE=1"}
	if d.StandIn() {
		list = append(list, "MSCCLC_STANDIN_APART=1")
	}
	for _, variable := range list {
		for _, proto := range []ir.Protocol{ir.LL, ir.Simple, ir.LL128} {
			for _, two := range []bool{false, true} {
				for i, p := range startJob(t, "rank", proto, func(r *role) { r.Two, r.Env = two, append(r.Env, variable) }) {
					code, said := p.end(t)
					want := map[ir.Protocol]string{ir.LL128: "needs NVLink"}[proto]
					if proto == ir.Simple && !two {
						want = "the program accesses output of other ranks"
					}
					if code != 0 && want == "" || want != "" && (code != 1 || !strings.Contains(said, want)) {
						t.Errorf("%s, %v, two-sided %v, process %d: %d %s", variable, proto, two, i, code, said)
					}
				}
			}
		}
	}
}

// testProcessLate has a rank's process not launch: all receive which step waited, for it or, of a
// two-sided program, for another block's that does; and run well after a reset.
func testProcessLate(t *testing.T, _ Device) {
	received := regexp.MustCompile(`received:.*(\.mscl:|allpairs:)`)
	whom := map[bool]*regexp.Regexp{false: regexp.MustCompile(`rank 0 block.* from rank 1`),
		true: regexp.MustCompile(`rank 0 block.*( 1->0|the flag of block)`)}
	for _, two := range []bool{false, true} {
		for i, c := range startJob(t, "late", ir.LL, func(r *role) { r.Two = two }) {
			code, said := c.end(t)
			if code != 0 || !received.MatchString(said) || !whom[two].MatchString(said) {
				t.Errorf("two-sided %v, process %d: %d %s", two, i, code, said)
			}
		}
	}
}

// testProcessDies kills a rank's process: the others name it and their own steps, and go on.
func testProcessDies(t *testing.T, _ Device) {
	for _, two := range []bool{false, true} {
		begin := time.Now()
		for i, c := range startJob(t, "dies", ir.LL, func(r *role) { r.Two = two }) {
			code, said := c.end(t)
			if i == 1 {
				continue
			}
			if code != 0 || !strings.Contains(said, "process 1 (rank 1) is gone") ||
				!strings.Contains(said, fmt.Sprintf("rank %d block", i)) {
				t.Errorf("two-sided %v, process %d: %d %s", two, i, code, said)
			}
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
	}
}

// The twin of inject.cc's Control.
const (
	controlHeader  = 16 + 56 + 8
	controlCounter = 64
	controlBytes   = controlHeader + 126*controlCounter
)

// calls returns how often each call of the driver is made by a child.
func calls(t testing.TB, r role) map[string]int {
	t.Helper()
	control := filepath.Join(t.TempDir(), "control")
	if err := os.WriteFile(control, make([]byte, controlBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Env = append(r.Env, "MSCCLC_STANDIN_CONTROL="+control)
	if code, said := start(t, r).end(t); code != 0 {
		t.Fatal(said)
	}
	text, err := os.ReadFile(control)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]int{}
	for at := controlHeader; at < controlBytes; at += controlCounter {
		if name := strings.TrimRight(string(text[at:at+56]), "\x00"); name != "" {
			made[name] = int(binary.LittleEndian.Uint64(text[at+56:]))
		}
	}
	return made
}

// testEachCallFails has each call of the driver fail, the first and the last of its
// name: the child ends with that error, or well, and in time.
func testEachCallFails(t *testing.T, d Device) {
	if !d.StandIn() {
		t.Skip("a driver's calls cannot be made to fail")
	}
	made := calls(t, role{Do: "all"})
	if len(made) < 35 {
		t.Errorf("only %d calls are made", len(made))
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	failed, tried, turns := 0, 0, make(chan bool, 4)
	for i, name := range slices.Sorted(maps.Keys(made)) {
		if name == "kernel" {
			continue // a fault, which testFault has
		}
		n := made[name]
		nths := slices.Compact([]int{1, (n + 1) / 2, n})
		if !covering.CI() {
			nths = nths[i%len(nths):][:1]
		}
		for _, nth := range nths {
			tried++
			turns <- true
			wait.Go(func() {
				defer func() { <-turns }()
				code, said := start(t, role{Do: "all", Env: []string{fmt.Sprintf("MSCCLC_STANDIN_FAIL=%s:%d", name, nth)}}).end(t)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case code == 1 && strings.Contains(said, "error") && strings.Contains(said, "unknown error (driver error 999)"):
					failed++
				case code == 1 && strings.Contains(said, "is no memory of a GPU"):
					failed++ // an address that the driver knows nothing of is that
				case code != 0:
					t.Errorf("%s, call %d of %d: %d %s", name, nth, n, code, said)
				default:
					t.Logf("%s, call %d of %d, may fail: %s", name, nth, n, said)
				}
			})
		}
	}
	wait.Wait()
	t.Logf("%d failures of %d that were made, of %d calls, were reported", failed, tried, len(made))
	if failed < tried*2/3 {
		t.Errorf("only %d failures of %d were reported", failed, tried)
	}
}

// testFault has a kernel fault.
func testFault(t *testing.T, d Device) {
	if !d.StandIn() {
		t.Skip("a fault would end this process's use of the GPU")
	}
	for _, two := range []bool{false, true} {
		code, said := start(t,
			role{Do: "fault", Proto: ir.LL, Two: two, Env: []string{"MSCCLC_STANDIN_FAIL=kernel:1"}}).end(t)
		if code != 1 || !strings.Contains(said, "as it should be") || !strings.Contains(said, "illegal memory access") {
			t.Errorf("%d %s", code, said)
		}
	}
}

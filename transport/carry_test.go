//go:build cgo && linux

package transport_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mscclc/internal/covering"
	"mscclc/transport"
)

func TestMain(m *testing.M) {
	os.Setenv("MSCCLC_SILENCE", "4")                       // tests that have somebody silent need not wait for long
	if err := flag.Set("test.parallel", "4"); err != nil { // parallel tests mostly wait
		panic(err)
	}
	code := m.Run()
	transport.RemoveBuilt()
	os.Exit(code)
}

// driver builds a program of testdata, with the proxy and the engine of tests, with a sanitizer or none. One whose name
// ends with " wide" has more replicas than go together.
func driver(t *testing.T, name, sanitizer string) string {
	t.Helper()
	name, wide := strings.CutSuffix(name, " wide")
	unit := "testdata/" + name + ".cc"
	var flags []string
	if sanitizer != "" {
		flags = []string{"-fsanitize=" + sanitizer}
	}
	if wide {
		flags = append(flags, "-DWIDE")
	}
	return transport.Linked(t, name, append(transport.Units(t), "enginetest/engine.cc", unit), flags...)
}

// sanitizers returns the sanitizers of tests of messages: the address sanitizer, and for CI that of threads, which has
// all units compiled again.
func sanitizers() []string {
	if covering.CI() {
		return []string{"address,undefined", "thread"}
	}
	return []string{"address,undefined"}
}

// rounds returns how many rounds of random messages a run has: more than it has resets.
func rounds() int { return covering.Share(10) }

// carry runs testdata/carry.cc, and returns what it prints.
func carry(t *testing.T, sanitizer string, args ...any) string {
	t.Helper()
	return carryBy(t, driver(t, "carry", sanitizer), args...)
}

func carryBy(t *testing.T, program string, args ...any) string {
	t.Helper()
	return carryWith(t, 0, program, args...)
}

// carryWith gives each proxy a number of helper threads.
func carryWith(t *testing.T, helpers int, program string, args ...any) string {
	t.Helper()
	cmd := exec.Command(program, strings.Fields(fmt.Sprintln(args...))...)
	cmd.Env = append(os.Environ(), fmt.Sprint("MSCCLC_NET_THREADS=", helpers))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("carry %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Random messages of 2 to 6 processes arrive whole and in order, whatever the engine does to their timing.
// Five runs have each number of processes and of resets: those under the sanitizer.
func TestCarry(t *testing.T) {
	for _, sanitizer := range append([]string{""}, sanitizers()...) {
		t.Run("sanitizer="+sanitizer, func(t *testing.T) {
			runs := 10
			if sanitizer != "" {
				runs = 5
			} else if !covering.CI() {
				runs = 3
			}
			for seed := range runs {
				processes, resets, delay := 2+seed%5, seed%3, 40000*seed+1
				out := carry(t, sanitizer, seed+1, processes, rounds(), resets, fmt.Sprint("delay=", delay))
				if n := strings.Count(out, ": 0 of "); n != processes || strings.Contains(out, "WARNING") {
					t.Errorf("seed %d: %d of %d processes had no failure:\n%s", seed+1, n, processes, out)
				}
			}
		})
	}
}

// The same holds where helper threads carry the data, and a fault of the engine is a failure of all processes.
func TestCarryHelpers(t *testing.T) {
	for _, sanitizer := range sanitizers() {
		t.Run("sanitizer="+sanitizer, func(t *testing.T) {
			program := driver(t, "carry", sanitizer)
			for seed := range 3 {
				processes, helpers, delay := 2+seed, 1+seed, 40000*seed+1
				out := carryWith(t, helpers, program, seed+1, processes, rounds(), seed%3, fmt.Sprint("delay=", delay))
				if n := strings.Count(out, ": 0 of "); n != processes || strings.Contains(out, "WARNING") {
					t.Errorf("seed %d: %d of %d processes had no failure:\n%s", seed+1, n, processes, out)
				}
			}
			for _, fault := range []string{"cut=30", "kill=30", "silent=30"} {
				out := carryWith(t, 2, program, 5, 3, 200, 0, "delay=100000", 1, fault)
				if seen := failure.FindAllString(out, -1); len(seen) != 3 || strings.Contains(out, "WARNING") {
					t.Errorf("%s:\n%s", fault, out)
				}
			}
		})
	}
}

// More replicas than one message has go in several.
func TestCarryWide(t *testing.T) {
	for seed := range 3 {
		out := carryBy(t, driver(t, "carry wide", "address,undefined"), seed+1, 3, rounds(), seed%2, "delay=40000")
		if strings.Count(out, ": 0 of ") != 3 {
			t.Errorf("seed %d:\n%s", seed+1, out)
		}
	}
}

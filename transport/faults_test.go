//go:build cgo && linux

package transport_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"mscclc/internal/covering"
	"mscclc/transport"
)

var failure = regexp.MustCompile(`(?m)^process (\d+): (\d+) of (-?\d+): (.*)$`)

// A fault that befalls a message of process 1 is a failure of all processes, of a kind that fits, and nothing that
// arrives is wrong.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault string
		codes []transport.Code
	}{
		{"cut", []transport.Code{transport.Broken}},
		// After data that is lost, the next message is too long for the engine, or the count never comes.
		{"lose", []transport.Code{transport.Broken, transport.PeerSilent, transport.PeerGone, transport.EngineFailed}},
		{"drop", []transport.Code{transport.PeerGone}},
		{"kill", []transport.Code{transport.PeerGone}},
		// A process that a third one reports as silent ends, which another one may see before its own time is over.
		{"silent", []transport.Code{transport.PeerSilent, transport.PeerGone}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			for _, at := range []int{30, 61, 100} {
				out := carry(t, "address,undefined", 5, 3, 200, 0, "delay=100000", 1, fmt.Sprintf("%s=%d", c.fault, at))
				seen := failure.FindAllStringSubmatch(out, -1)
				if len(seen) != 3 {
					t.Fatalf("%s", out)
				}
				for _, m := range seen {
					if !strings.Contains(fmt.Sprint(c.codes), m[2]) || m[3] == "-1" {
						t.Errorf("message %d: %s", at, m[0])
					}
				}
			}
		})
	}
}

// Another program, another version, or what is no hello at all at the other end is reported when jobs connect. Who
// found it reports it to the other side for a while only: on a machine that gives that one no processor, its connection
// just ends.
func TestForeignHello(t *testing.T) {
	texts, untold := map[string]bool{}, 0
	foreign, gone := fmt.Sprint(int(transport.PeerForeign)), fmt.Sprint(int(transport.PeerGone))
	runs := max(20, covering.Share(60))
	for seed := range runs {
		out := carry(t, "address,undefined", seed, 2, 3, 0, "delay=1000", 1, fmt.Sprint("corrupt=", 1+seed%2))
		for _, m := range failure.FindAllStringSubmatch(out, -1) {
			switch {
			case m[1] == "1" && m[2] == gone:
				untold++
			case m[2] != foreign:
				t.Errorf("seed %d: %s", seed, m[0])
			}
			texts[m[4]] = true
		}
	}
	if untold > 3 {
		t.Errorf("%d of %d got no reason", untold, runs)
	}
	for _, want := range []string{"does not speak as", "speaks version", "another program", "connection is for others"} {
		if !strings.Contains(fmt.Sprint(texts), want) {
			t.Errorf("no failure says %q: %v", want, texts)
		}
	}
}

// A byte that the network changed, of a header or of data, has no process touch memory that it may not touch.
func TestCorrupt(t *testing.T) {
	t.Parallel()
	var seen atomic.Int32
	t.Cleanup(func() {
		if n := seen.Load(); n < 5 {
			t.Errorf("%d failures say that a message cannot be", n)
		}
	})
	for seed := range 20 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(fmt.Sprintf("%d 2 20 0 delay=1000 1 corrupt=%d", seed, 7+seed*3))
			cmd := exec.Command(driver(t, "carry", "address,undefined"), args...)
			cmd.Env = append(os.Environ(), "CARRY_SECONDS=3") // a changed count may have a process wait
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "Sanitizer") || strings.Contains(string(out), "runtime error") ||
				len(failure.FindAllString(string(out), -1)) != 2 {
				t.Errorf("carry %v: %v\n%s", args, err, out)
			}
			seen.Add(int32(strings.Count(string(out), fmt.Sprintf(": %d of", int(transport.Broken)))))
		})
	}
}

// The check of headers lets nothing through that leaves scratch or flags, and counts bytes as kernels do.
func TestHeader(t *testing.T) {
	for seed := range 4 {
		out, err := exec.Command(driver(t, "header", "address,undefined"), fmt.Sprint(seed), "50000").CombinedOutput()
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, out)
		}
	}
}

// Without an engine of that name the error says which names there are.
func TestNoEngine(t *testing.T) {
	_, err := transport.Open("carrier-pigeon")
	if err == nil || !strings.Contains(err.Error(), "ucx, or ncclnet:PLUGIN") {
		t.Errorf("%v", err)
	}
}

//go:build cgo

package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/play"
)

// A trace is JSON as Perfetto reads it: every rank and lane has a name, every span
// lies in a lane that has one, spans of a lane follow one another, and every
// step is there.
func TestTraceFile(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		lanes int
		spans map[string]int
		looks map[string]int
	}{
		"two-sided": {[]string{"allreduce/ring", "-p", "ranks=3", "--sided", "two"}, 3,
			map[string]int{"s": 3, "rrs": 3, "rrcs": 3, "rcs": 3, "r": 3},
			map[string]int{"copy over the node's links": 9, "reduce over the node's links": 6}},
		"one-sided": {[]string{exchangePlan(t)}, 4, map[string]int{"mv": 8, "signal": 4, "wait": 4},
			map[string]int{"copy over the node's links": 4, "reduce in the GPU": 4, "signal": 4, "wait": 4}},
	} {
		file := filepath.Join(t.TempDir(), "trace.json")
		var stdout, stderr bytes.Buffer
		if code := main1(append([]string{"run", "-b", "96", "--iters", "2", "--trace", file}, c.args...),
			strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", name, code, stderr.String())
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var trace struct{ TraceEvents []play.TraceEvent }
		if err := json.Unmarshal(text, &trace); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ranks, lanes, ends := map[int]bool{}, map[[2]int]bool{}, map[[2]int]float64{}
		spans, looks := map[string]int{}, map[string]int{}
		for _, e := range trace.TraceEvents {
			lane := [2]int{e.Process, e.Thread}
			switch {
			case e.Name == "process_name":
				ranks[e.Process] = true
			case e.Name == "thread_name":
				lanes[lane] = true
			case e.Phase != "X" || !ranks[e.Process] || !lanes[lane] || e.Begin < ends[lane]-1e-6 || e.Length < 0 ||
				!strings.HasPrefix(e.Args["does"].(string), e.Category+" ") || e.Colour == "":
				t.Errorf("%s: the event %+v, where lane ends at %v", name, e, ends[lane])
			default:
				ends[lane] = e.Begin + e.Length
				spans[e.Category]++
				looks[e.Name]++
			}
		}
		if len(lanes) != c.lanes {
			t.Errorf("%s: lanes %v, want %d", name, lanes, c.lanes)
		}
		if !maps.Equal(looks, c.looks) {
			t.Errorf("%s: names %v, want %v", name, looks, c.looks)
		}
		for op, n := range c.spans {
			if spans[op] != n {
				t.Errorf("%s: %d spans of %s, want %d", name, spans[op], op, n)
			}
		}
	}
	var stdout, stderr bytes.Buffer
	if code := main1([]string{"run", "allreduce/ring", "-b", "1K,2K", "--trace", "x.json"}, strings.NewReader(""),
		&stdout, &stderr); code != cli.ExitUsage {
		t.Errorf("a trace of two sizes exits with %d: %s", code, stderr.String())
	}
}

// A one-sided program that does not say what must hold at the end is run against
// what evaluation says of it.
func TestRunOpaqueOneSided(t *testing.T) {
	text := strings.ReplaceAll(strings.Replace(exchangeProgram, "allreduce ranks=2 chunks=1 inplace",
		"opaque ranks=2 chunks=1 inplace in=1 out=1", 1), " final", "")
	var stdout, stderr bytes.Buffer
	if code := main1([]string{"run", planFile(t, text), "-b", "4K"}, strings.NewReader(""), &stdout,
		&stderr); code != cli.ExitGood || !strings.Contains(stdout.String(), "0 wrong") {
		t.Errorf("exit code %d: %s%s", code, stdout.String(), stderr.String())
	}
}

// A race of a one-sided program is reported, and replayed.
func TestReplayOneSided(t *testing.T) {
	file := planFile(t, `program race
collective allreduce ranks=2 chunks=1
even
onesided depth 1
block 0.0
  0 mv input[0] + 1:input[0] -> output[0] final
block 1.0
  0 mv input[0] + 0:input[0] -> output[0] final
`)
	var stdout, stderr bytes.Buffer
	code := main1([]string{"verify", "--replay", file}, strings.NewReader(""), &stdout, &stderr)
	if code != cli.ExitInput || !strings.Contains(stderr.String(), "[race]") ||
		!strings.Contains(stdout.String(), "and no step of rank 1 had begun") {
		t.Errorf("exit code %d: %s%s", code, stdout.String(), stderr.String())
	}
}

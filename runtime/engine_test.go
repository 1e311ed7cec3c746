package runtime_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/executor/gpu/gputest"
	"mscclc/internal/covering"
)

// engine runs parts of testdata/engine.cc on the mock driver, and returns its output.
func engine(t *testing.T, program, file, how string, ranks int, parts []string, env ...string) string {
	t.Helper()
	out, err := tryEngine(t, program, file, how, ranks, parts, env...)
	if err != nil {
		t.Fatalf("%s of %d ranks: %v\n%s", how, ranks, err, out)
	}
	t.Logf("%s", out)
	return out
}

// tryEngine is engine, for runs that may fail.
func tryEngine(t *testing.T, program, file, how string, ranks int, parts []string, env ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute) // who hangs ends
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{how, file, strconv.Itoa(ranks)}, parts...)...)
	cmd.Env = append(append(os.Environ(), mockDriver(t)...), "MSCCLC_STANDIN_GPUS="+strconv.Itoa(ranks),
		"MSCCLC_STANDIN_NAME="+device, "MSCCLC_STANDIN_WARPS=1")
	if !covering.CI() {
		cmd.Env = append(cmd.Env, "PAIRS_PERIOD=5")
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mockDriver returns the environment that names the mock driver, unless tests run on a GPU.
func mockDriver(t *testing.T) []string {
	t.Helper()
	if onGPU() {
		return nil
	}
	library, err := gputest.Build()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"MSCCLC_LIBCUDA=" + library}
}

// engineProgram builds testdata/engine.cc.
func engineProgram(t *testing.T) string { return engineWith(t, engineObjects) }

// engineWith builds testdata/engine.cc with these objects and flags. MSCCLC_NET may be the engine of tests.
func engineWith(t *testing.T, objects func() ([]string, error), flags ...string) string {
	return program(t, "engine", objects, append(flags, "testdata/ranks.cc", "../transport/enginetest/engine.cc",
		"-lstdc++", "-lpthread")...)
}

var engineTypes = []data.DType{data.U8, data.U32, data.U64}

// An engineCase is parts of testdata/engine.cc that ranks run, as threads or processes.
type engineCase struct {
	how   string
	ranks int
	parts string
}

// engines runs cases, each with the bundle that is made for it.
func engines(t *testing.T, cases []engineCase, made func(t *testing.T, c engineCase) *bundle.Bundle) {
	program := engineProgram(t)
	for _, c := range cases {
		t.Run(c.how+strconv.Itoa(c.ranks), func(t *testing.T) {
			engine(t, program, write(t, bundle.Encode(made(t, c))), c.how, c.ranks, strings.Fields(c.parts))
		})
	}
}

// TestEngine runs all programs of bundles, with ranks as threads and as processes.
func TestEngine(t *testing.T) {
	engines(t, []engineCase{
		{"threads", 2, "every pairs mixes captures"},
		{"processes", 2, "every streams abort abortgraph lives"},
		{"threads", 3, "mixes streams lives"},
		{"processes", 4, "every captures forked watched"},
		{"threads", 4, "mixes abortgraph forked pairs"},
	}, func(t *testing.T, c engineCase) *bundle.Bundle {
		ctas := 8
		if strings.Contains(c.parts, "lives") {
			ctas = 1 // the arena is smaller
		}
		return makeBundle(t, engineTypes, ctas, c.ranks)
	})
}

// TestEngineLanes runs programs in several lanes, each program after every other one: as many CTAs as replicas times
// lanes.
func TestEngineLanes(t *testing.T) {
	engines(t, []engineCase{
		{"threads", 2, "every pairs mixes captures"},
		{"processes", 3, "every streams abort"},
		{"processes", 4, "every watched"},
	}, func(t *testing.T, c engineCase) *bundle.Bundle {
		return makeLaned(t, engineTypes, 8, c.ranks, false)
	})
}

// TestEngineCatalog runs all programs of the catalog that bundles take, each after others. Three ranks, and for CI
// four, also run every program at all sizes.
func TestEngineCatalog(t *testing.T) {
	t.Parallel()
	program := engineProgram(t)
	for ranks, how := range []string{3: "threads", 4: "processes"} {
		if how != "" {
			file := write(t, bundle.Encode(makeCatalog(t, ranks)))
			parts := []string{"pairs"}
			if ranks == 3 || covering.CI() {
				parts = append(parts, "every")
			}
			engine(t, program, file, how, ranks, parts, "PAIRS_PERIOD="+pairsPeriod())
		}
	}
}

// pairsPeriod returns how many pairs of programs of the catalog there are for one that is run.
func pairsPeriod() string {
	if covering.Full() {
		return "1"
	}
	return "100"
}

// TestGraphs has graphs and eager calls follow each other over streams, unless NCCL's variable says no.
func TestGraphs(t *testing.T) {
	program := engineProgram(t)
	file := write(t, bundle.Encode(makeBundle(t, engineTypes, 8, 2)))
	engine(t, program, file, "threads", 2, []string{"graphs"})
	// Each process captures two graphs, so that it makes two nodes that record.
	engine(t, program, file, "processes", 2, []string{"graphs"}, "MSCCLC_STANDIN_FAIL=cuGraphAddEventRecordNode:3")
	// Which check fails depends on how fast the machine is.
	out, err := tryEngine(t, program, file, "processes", 2, []string{"graphs"}, "NCCL_GRAPH_MIXING_SUPPORT=0")
	if err == nil || !strings.Contains(out, "does not follow") && !strings.Contains(out, "the team does not know") {
		t.Errorf("without order: %v\n%s", err, out)
	}
}

// TestTimeout has a launch give up whose peers never come: it names the step.
func TestTimeout(t *testing.T) {
	program := engineProgram(t)
	file := write(t, bundle.Encode(makeBundle(t, engineTypes, 8, 2)))
	out := engine(t, program, file, "processes", 2, []string{"timeout"}, "MSCCLC_TIMEOUT=0.1")
	for _, want := range []string{"rank 0: allreduce/onephase LL: block 0 step ", "allreduce/onephase.mscl:", "from rank 1 block"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in the message: %s", want, out)
		}
	}
}

// TestUnseen has the driver record no event after a launch that waits. Nobody sees when it ends, so its memory stays.
func TestUnseen(t *testing.T) {
	program := engineProgram(t)
	file := write(t, bundle.Encode(makeBundle(t, engineTypes, 8, 2)))
	for _, how := range []string{"threads", "processes"} {
		out := engine(t, program, file, how, 2, []string{"unseen"})
		if want := "rank 0: the GPU: no event could be recorded after a launch"; !strings.Contains(out, want) {
			t.Errorf("%q is not in the output: %s", want, out)
		}
	}
}

// TestOversubscribed has eight teams with 32 CTAs launch on a GPU that holds 132. Where the queue of one team's stream
// is full, another one is aborted in time.
func TestOversubscribed(t *testing.T) {
	program := engineProgram(t)
	file := write(t, bundle.Encode(makeBundle(t, engineTypes, 32, 2)))
	for _, how := range []string{"threads", "processes"} {
		engine(t, program, file, how, 2, []string{"oversubscribed"}, "MSCCLC_STANDIN_WARPS=16")
		engine(t, program, file, how, 2, []string{"queued"})
	}
}

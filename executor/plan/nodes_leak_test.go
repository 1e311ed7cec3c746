//go:build cgo && linux

package plan_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mscclc/executor/data"
	"mscclc/lang"
	"mscclc/transport/enginetest"
)

// has is what this process has that may be left over.
type has struct {
	files, threads, maps int
	kilobytes            int // of memory that is in use
}

// now looks at this process.
func now(t *testing.T) (h has) {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	count := func(dir string) int {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	h.files, h.threads = count("/proc/self/fd"), count("/proc/self/task")
	maps, err1 := os.ReadFile("/proc/self/maps")
	status, err2 := os.ReadFile("/proc/self/status")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	h.maps = strings.Count(string(maps), "memfd:mscclc")
	_, rss, _ := strings.Cut(string(status), "VmRSS:")
	var err error
	if h.kilobytes, err = strconv.Atoi(strings.Fields(rss)[0]); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestNodesLeak makes plans of two nodes again and again, whose network then fails: nothing of them is left. The first
// of them are not counted, since some things stay until the process ends.
func TestNodesLeak(t *testing.T) {
	world(t)
	program := catalog(t, "allreduce/ring", lang.Params{"ranks": "4"}, nil)
	faults := []string{"kill", "lose", "cut", "drop", "corrupt", ""}
	failed := 0
	life := func(fault string) {
		list, errs := prepare(t.Context(), program, nodesOf(2, 1, 2), 2, 1024)
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if fault == "" && now(t).maps == 0 {
			t.Fatal("a plan has no memory that is looked for")
		}
		must(t, list, 1003, data.I32, data.Sum, 2, 1)
		enginetest.Fault(fault)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := errors.Join(each(len(list), func(i int) error {
			return errors.Join(list[i].SetWait(300*time.Millisecond), list[i].run(ctx, 10007, data.I32, data.Sum, 2, 2))
		})...)
		enginetest.Fault("")
		if err != nil {
			failed++
		}
		if fault == "" && err != nil {
			t.Fatal(err)
		}
		each(len(list), func(i int) error { return errors.Join(list[i].Close(), list[i].stream.Close()) })
	}
	for range 2 {
		for _, f := range faults {
			life(f)
		}
	}
	before := now(t)
	failed = 0
	const lives = 50
	for i := range lives {
		life(faults[i%len(faults)])
	}
	after := now(t)
	t.Logf("before: %+v, after %d plans: %+v; %d failed", before, lives, after, failed)
	const few = lives / 5
	grows := 8 << 10
	if racing() {
		grows = 64 << 10 // what the race detector keeps of memory that was used once
	}
	if after.files > before.files+few || after.threads > before.threads+few || after.maps > before.maps ||
		after.kilobytes > before.kilobytes+grows {
		t.Errorf("something is left of %d plans: before %+v, after %+v", lives, before, after)
	}
	if failed < lives/2 {
		t.Errorf("only %d plans failed", failed)
	}
}

// racing reports whether this is a build with the race detector.
func racing() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

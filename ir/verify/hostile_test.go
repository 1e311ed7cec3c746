package verify_test

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"mscclc/ir/bitwise"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/verify"
)

// A hostile program has about n steps, or ranks, that are easily read and
// might be hard to judge.
type hostile struct {
	name string
	make func(n int) *either.Program
	want string // codes that the verdict has, or ok
}

// TestHostilePrograms judges each program at two sizes, the second eight times
// the first, as reading XML and Check do. What is allocated for a step stays in
// bounds and grows as the program does; times are logged, since machines
// differ. MSCCLC_HOSTILE=N makes programs of N thousand steps.
func TestHostilePrograms(t *testing.T) {
	size := 16
	if s := os.Getenv("MSCCLC_HOSTILE"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		size = n
	}
	for _, x := range append(hostileWaits, hostileValues...) {
		t.Run(x.name, func(t *testing.T) { x.judgeTwice(t, size<<10) })
	}
}

func (x *hostile) judgeTwice(t *testing.T, steps int) {
	small, tookSmall := x.judge(t, steps/8)
	large, took := x.judge(t, steps)
	t.Logf("%8d: %6d bytes and %6d ns a step; at an eighth %6d and %6d", steps, int(large)/steps,
		int(took.Nanoseconds())/steps, 8*int(small)/steps, 8*int(tookSmall.Nanoseconds())/steps)
	if large > uint64(steps)*maxPerStep+16<<20 {
		t.Errorf("%d steps allocate %d bytes", steps, large)
	}
	if large > 12*small+16<<20 {
		t.Errorf("an eightfold program allocates %d bytes for %d", large, small)
	}
	if took > time.Minute {
		t.Errorf("%d steps took %v", steps, took)
	}
}

// maxPerStep bounds the bytes that judging a step allocates.
const maxPerStep = 3000

func (x *hostile) judge(t *testing.T, n int) (allocated uint64, took time.Duration) {
	t.Helper()
	p := x.make(n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	if eval.Classify(p.Fifo) == nil {
		_ = eval.MarkFinal(p)
	}
	r, list := verify.Check(p, verify.Options{})
	if len(list) == 0 {
		bitwise.OrderOf(p)
	}
	took = time.Since(start)
	runtime.ReadMemStats(&after)
	got := map[string]bool{}
	for _, d := range list {
		got[string(d.Code)] = true
		if len(d.Text) > 1<<12 || len(d.Notes) > 64 {
			t.Errorf("%s: a problem of %d bytes and %d notes", x.name, len(d.Text), len(d.Notes))
		}
	}
	for _, want := range strings.Split(x.want, ",") {
		if want != "ok" && !got[want] || want == "ok" && len(list) > 0 {
			t.Errorf("%s of %d: %v, want %s", x.name, n, errors.Join(list.Err()), x.want)
		}
	}
	if len(list) > 101 || len(r.Counterexamples) > 100 { // 100, and that there are more
		t.Errorf("%s: %d problems, %d counterexamples", x.name, len(list), len(r.Counterexamples))
	}
	return after.TotalAlloc - before.TotalAlloc, took
}

package gputest

import (
	"strings"
	"testing"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/lang"
)

// testHurdles binds what cannot be bound, and prepares what cannot be prepared.
func testHurdles(t *testing.T, d Device) {
	r := mustRig(t, d, mustProgram(t, ranked("allreduce/allpairs", 2, ir.LL, false)),
		executor.PlanOptions{GPUs: d.Open(numbers()...), Columns: 3000, TileBytes: 64})
	refuses(t, r, map[string]func(*executor.CallArgs){
		"buffers are of":                 func(a *executor.CallArgs) { a.Input = a.Input[:1] },
		"no memory of a GPU":             func(a *executor.CallArgs) { a.Input = []uint64{16, 16} },
		"are wanted":                     func(a *executor.CallArgs) { a.Elems = 1 << 30 },
		"not aligned":                    func(a *executor.CallArgs) { a.Output = []uint64{a.Output[0] + 1, a.Output[1]} },
		"out of range":                   func(a *executor.CallArgs) { a.Columns = 1 << 20 },
		"has room for":                   func(a *executor.CallArgs) { a.Columns, a.Threads = 3000, 512 },
		"a GPU has them by 32":           func(a *executor.CallArgs) { a.Threads = 33 },
		"no element type":                func(a *executor.CallArgs) { a.DType = 99 },
		"elements of a piece":            func(a *executor.CallArgs) { a.Elems = -1 },
		"up to 512":                      func(a *executor.CallArgs) { a.Threads = 1024 },
		"2 and 1 ranks, of 2":            func(a *executor.CallArgs) { a.Output = a.Output[:1] },
		"output of rank 1":               func(a *executor.CallArgs) { a.Output = []uint64{a.Output[0], a.Output[1] + 1<<40} },
		"or tile iterations of -5 bytes": func(a *executor.CallArgs) { a.TileBytes = -5 },
	})
	testHurdlesOfTwo(t, d)
	ctx, two := t.Context(), mustProgram(t, shape{"allreduce/allpairs", lang.Params{"ranks": 2}, false, ir.LL, true, 0})
	for want, opt := range map[string]executor.PlanOptions{
		"no GPUs":               {},
		"there is no GPU 9":     {GPUs: d.Open(999)},
		"no replicas":           {GPUs: d.Open(), Columns: 2},
		"-1 slots":              {GPUs: d.Open(), Slots: -1},
		"pieces of -1 bytes":    {GPUs: d.Open(), PieceBytes: -1},
		"slots are out of rang": {GPUs: d.Open(), Slots: 1 << 16, SlotBytes: 1 << 40, TileBytes: 1 << 40},
	} {
		if _, err := executor.Prepare(ctx, two, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, and not %q", err, want)
		}
	}
}

// testHurdlesOfTwo does so with a two-sided program.
func testHurdlesOfTwo(t *testing.T, d Device) {
	r := mustRig(t, d, mustProgram(t, shape{"allreduce/allpairs", lang.Params{"ranks": 2}, false, ir.LL, true, 40}),
		executor.PlanOptions{GPUs: d.Open(numbers()...)})
	refuses(t, r, map[string]func(*executor.CallArgs){
		"buffers are of":       func(a *executor.CallArgs) { a.Input = a.Input[:1] },
		"no memory of a GPU":   func(a *executor.CallArgs) { a.Input = []uint64{16, 16} },
		"are wanted":           func(a *executor.CallArgs) { a.Elems = 1 << 30 },
		"no replicas":          func(a *executor.CallArgs) { a.Columns = 2 },
		"a GPU has them by 32": func(a *executor.CallArgs) { a.Threads = 33 },
		"tiles of -5 bytes":    func(a *executor.CallArgs) { a.TileBytes = -5 },
	})
}

// refuses binds calls that cannot be, each with an error that says why, and then runs one that can.
func refuses(t *testing.T, r *rig, calls map[string]func(*executor.CallArgs)) {
	t.Helper()
	for want, set := range calls {
		j, err := r.bind(t.Context(), data.I32, data.Sum, 1000, set)
		if err == nil {
			j.close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, and not %q", err, want)
		}
	}
	if err := r.once(soon(t), data.I32, data.Sum, 1000, nil); err != nil {
		t.Errorf("after that: %v", err)
	}
}

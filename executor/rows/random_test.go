package rows_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"mscclc"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/executor/host"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/passes/core"
)

// TestRandomPrograms runs random programs with random lists of stages, each several times with other sizes, and
// compares all that they write with the meaning. MSCCLC_RANDOM=N asks for N programs.
func TestRandomPrograms(t *testing.T) {
	n, first := irtest.Count(t, 400), irtest.First(t)
	var next, calls, rows atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1); seed <= int64(n) && !t.Failed(); seed = next.Add(1) {
				if err := try(int64(first)+seed, &calls, &rows); err != nil {
					t.Errorf("seed %d: %v", int64(first)+seed, err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d programs, %d calls that finished %d elements", n, calls.Load(), rows.Load())
	if calls.Load() < int64(n) || rows.Load() < 100*int64(n) {
		t.Error("too little was finished to say anything")
	}
}

// try runs the program of a seed.
func try(seed int64, calls, elements *atomic.Int64) error {
	rnd := rand.New(rand.NewSource(seed))
	name := names[rnd.Intn(len(names))]
	proto := []ir.Protocol{ir.Simple, ir.LL}[rnd.Intn(2)]
	opt := mscclc.Options{Core: core.Options{Level0: rnd.Intn(3) == 0, OnePass: rnd.Intn(4) == 0, Lanes: rnd.Intn(3)}}
	if name == "allreduce before" || name == "allreduce chain" {
		proto = ir.Simple // a packet holds sums
	}
	then := stages(rnd)
	p, err := compiled(name, then, 1+rnd.Intn(6), 1+rnd.Intn(2), proto, opt)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s of %d ranks and %d chunks by %v, %+v, then %v", name, p.Coll.Ranks, p.Coll.Chunks, proto, opt.Core,
		p.Then)
	load := executor.Options{Device: cpu.Device(), Replicas: 1 + rnd.Intn(8), TileBytes: 16 << rnd.Intn(10)}
	planned := rnd.Intn(3) == 0
	if planned { // shares of the host as GPUs, which ranks go round
		load.Device = host.New(host.Options{GPUs: 1 + rnd.Intn(p.Coll.Ranks), Threads: 1})
		what += ", by a plan"
	}
	l, err := executor.Load(p, load)
	if planned && errors.Is(err, executor.ErrNotSupported) && name == "reducescatter after" {
		return nil // a rank finishes what only another gets
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer l.Close()
	for range 1 + rnd.Intn(3) {
		if err := call(rnd, l, p, elements); err != nil {
			return fmt.Errorf("%s, in memory for %d replicas of %d: %w", what, load.Replicas, load.TileBytes, err)
		}
		calls.Add(1)
	}
	return nil
}

// call runs a loaded program on random rows.
func call(rnd *rand.Rand, l *executor.Loaded, p *either.Program, elements *atomic.Int64) error {
	t, length := []data.DType{data.F16, data.BF16, data.F32}[rnd.Intn(3)], 1+rnd.Intn(300)
	if rnd.Intn(3) == 0 {
		length = 1 + rnd.Intn(9)
	}
	count := int64(rnd.Intn(1 + 4000/length/p.Coll.Ranks))
	if rnd.Intn(2) == 0 {
		count = int64(rnd.Intn(2 * p.Coll.Chunks))
	}
	geo := data.NewGeometry(p.Coll, count, t.Size()*length)
	d := data.NewRows(geo, p.Then, length, t, rnd.Uint64())
	if rnd.Intn(2) == 0 {
		d.InPlace()
	}
	for i := range 2 {
		d.Reset()
		args := executor.DataRows(d)
		args.Replicas, args.TileBytes = rnd.Intn(1+l.Image().One.Replicas), int64(rnd.Intn(3)*(1+rnd.Intn(4000)))
		args.Threads = 1
		if rnd.Intn(4) == 0 {
			args.PerBlock = 1 + rnd.Intn(3)
		}
		if p.OneSided.OnePass {
			args.Replicas = 0
		}
		what := fmt.Sprintf("call %d of %d rows of %d %v, %d replicas of %d, %d threads", i, count, length, t, args.Replicas,
			args.TileBytes, args.PerBlock)
		if _, err := l.Run(context.Background(), args); err != nil {
			if p.OneSided.OnePass && isLimit(err) {
				return nil
			}
			return fmt.Errorf("%s: %w", what, err)
		}
		found := d.Check()
		if err := found.Err(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		elements.Add(found.Checked)
	}
	return nil
}

// isLimit reports whether a chunk is too long for the memory of a program whose launches have one tile iteration.
func isLimit(err error) bool {
	var list diag.List
	return errors.As(err, &list) && list[0].Code == diag.Limit
}

package tunecmd

import (
	"context"
	"errors"
	"time"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/nccllib"
	"mscclc/cmd/mscclc/internal/tuning"
	"mscclc/executor"
	"mscclc/executor/data"
	prepared "mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/either"
)

// This file opens what ranks run on.

// all measures tasks that have the same kind of buffers.
func (w *worker) all(ctx context.Context, gpus executor.GPUs, todo []task) error {
	if len(todo) == 0 {
		return nil
	}
	options := bench.GPUsOptions{GPUs: gpus, Ranks: w.x.Size(), Wait: w.wait,
		Plan: prepared.Options{Connect: w.wait, Exchange: w.x}}
	for _, t := range todo {
		for _, inplace := range [2]bool{false, true} {
			options.Calls = append(options.Calls, w.largest(t, inplace))
		}
	}
	site, err := bench.NewGPUs(ctx, options)
	if err != nil {
		return devices.Impossible(err)
	}
	defer site.Close()
	w.lab = &tuning.Lab{Site: site, Chooser: &choose.Chooser{Table: choose.DefaultTable(), Device: site.Name()},
		DType: data.BF16, Shared: devices.SharesCTAs("cuda"), Brief: true, Windows: todo[0].Windows, Layout: w.layout,
		Ordered:   w.bits != "",
		Measuring: bench.Measuring{Replays: 5, Warmup: 2, Target: time.Millisecond},
		Replicas: func(p *either.Program) (int, error) {
			return p.Replicas(tuning.UsualCTAs, devices.SharesCTAs("cuda")), nil
		}}
	if w.nccl != nccllib.None {
		if _, err := site.OpenNCCL(ctx, w.nccl); err != nil {
			return devices.Impossible(err)
		}
		w.lab.Rivals = site.Rivals
		err := site.UseNCCLMemory(ctx, w.lab.Windows)
		if w.lab.Windows && errors.Is(err, executor.ErrNotSupported) {
			return nil // this NCCL has no windows
		}
		if err != nil && !errors.Is(err, executor.ErrNotSupported) {
			return devices.Impossible(err)
		}
	}
	for _, t := range todo {
		if err := w.one(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// largest returns the largest call of a task.
func (w *worker) largest(t task, inplace bool) *bench.Call {
	coll := &ir.Collective{Kind: t.kind, Ranks: t.Ranks, Chunks: 1}
	c := &bench.Call{Coll: bench.Whole(coll, inplace), DType: data.BF16}
	c.Elems = data.PieceElems(c.Coll, t.sizes[len(t.sizes)-1], c.DType)
	return c
}

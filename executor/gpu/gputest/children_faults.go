package gputest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
)

// This file has the children that fail, or whose peers do.

// childFault meets a fault of a GPU, after which every call must say so at once.
func childFault(ctx context.Context, d Device, r role) error {
	s := pairs(r.Proto)
	s.two = r.Two
	p, err := s.program()
	if err != nil {
		return err
	}
	g, err := newRig(ctx, d, p, executor.PlanOptions{GPUs: d.Open(0), Unproven: true})
	if err != nil {
		return err
	}
	j, err := g.bind(ctx, data.I32, data.Sum, 3001, nil)
	if err != nil {
		return err
	}
	first := j.run(ctx)
	if first == nil {
		return errors.New("there was no fault")
	}
	begin := time.Now()
	for what, err := range map[string]error{"run": j.run(ctx), "err": g.plan.Err(), "wait": g.plan.Wait(ctx),
		"reset": g.plan.Reset(ctx), "fill": j.fill(), "sync": g.streams[0].Sync(ctx), "use": g.plan.GPU(0).Use()} {
		if err == nil {
			return fmt.Errorf("after a fault, %s is fine", what)
		}
	}
	if took := time.Since(begin); took > 5*time.Second {
		return fmt.Errorf("after a fault, calls took %v", took)
	}
	return fmt.Errorf("as it should be: %w", first)
}

// childLate is a rank of which number 1 does not launch at first.
func childLate(ctx context.Context, d Device, r role) error {
	x, g, j, err := joined(ctx, d, r)
	if err != nil {
		return err
	}
	if r.Index == 0 { // who has less patience tells the others
		err = g.plan.SetWait(100 * time.Millisecond)
	}
	if err == nil && r.Index != 1 {
		err = j.call.Launch(g.streams[0])
	}
	if err != nil {
		return err
	}
	failed := g.plan.Wait(ctx)
	for failed == nil && ctx.Err() == nil { // of number 1, which hears of it
		time.Sleep(time.Millisecond)
		failed = g.plan.Err()
	}
	if err := errors.Join(g.plan.Reset(ctx), g.plan.SetWait(time.Minute)); err != nil {
		return err
	}
	if err := j.run(ctx); err != nil {
		return fmt.Errorf("after a failure: %w", err)
	}
	fmt.Println("heard:", failed)
	return errors.Join(j.close(), g.Close(), x.Close())
}

// childDies is a rank of which number 1 dies when the others have launched.
func childDies(ctx context.Context, d Device, r role) error {
	x, g, j, err := joined(ctx, d, r)
	if err != nil {
		return err
	}
	if r.Index != 1 {
		if err := errors.Join(j.fill(), j.call.Launch(g.streams[0])); err != nil {
			return err
		}
	}
	if _, err := x.AllGather(ctx, nil); err != nil {
		return err
	}
	if r.Index == 1 {
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		return errors.Join(self.Kill(), errors.New("it lives"))
	}
	failed := g.plan.Wait(ctx)
	if failed == nil {
		return errors.New("nothing was told of a process that is gone")
	}
	// The process itself is as good as before.
	if err := errors.Join(j.close(), g.Close()); err != nil {
		return err
	}
	if err := childAll(ctx, d, r); err != nil {
		return fmt.Errorf("after a failure: %w", err)
	}
	fmt.Println("heard:", failed)
	return nil
}

package gputest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir"
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
	g, err := newRig(ctx, d, p, plan.Options{GPUs: d.Open(0), Unproven: true})
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

// childLate returns a rank of which number 1 does not launch at first.
func childLate(ctx context.Context, d Device, r role) error {
	x, g, j, err := joined(ctx, d, r)
	if err != nil {
		return err
	}
	if r.Index == 0 { // who has less patience reports it to the others
		err = g.plan.SetWait(100 * time.Millisecond)
	}
	if err == nil && r.Index != 1 {
		err = j.call.Launch(g.streams[0])
	}
	if err != nil {
		return err
	}
	failed := g.plan.Wait(ctx)
	for failed == nil && ctx.Err() == nil { // of number 1, which receives the report
		time.Sleep(time.Millisecond)
		failed = g.plan.Err()
	}
	if err := errors.Join(g.plan.Reset(ctx), g.plan.SetWait(time.Minute)); err != nil {
		return err
	}
	if err := j.run(ctx); err != nil {
		return fmt.Errorf("after a failure: %w", err)
	}
	fmt.Println("received:", failed)
	return errors.Join(j.close(), g.Close(), x.Close())
}

// childDies returns a rank of which number 1 dies when the others have launched.
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
		return errors.New("nothing was reported of a process that is gone")
	}
	// The process itself is as good as before.
	if err := errors.Join(j.close(), g.Close()); err != nil {
		return err
	}
	if err := childAll(ctx, d, r); err != nil {
		return fmt.Errorf("after a failure: %w", err)
	}
	fmt.Println("received:", failed)
	return nil
}

// This file has ports that fail, or that wait for what never comes.

// copyCall returns the call that a proxy makes.
func (d Device) copyCall() string {
	if d.Name == "hip" {
		return "hipMemcpyDtoDAsync"
	}
	return "cuMemcpyDtoDAsync_v2"
}

// testPortFails has copies fail, and the calls that report their ends: the launch ends with that error, and
// the plan works again after a reset.
func testPortFails(t *testing.T, d Device) {
	if !d.StandIn() {
		t.Skip("a driver's calls cannot be made to fail")
	}
	raise := strings.Replace(strings.Replace(d.copyCall(), "MemcpyDtoDAsync", "StreamWriteValue64", 1), "_v2", "", 1)
	if d.Name == "cuda" {
		raise += "_v2"
	}
	for _, call := range []string{d.copyCall(), raise} {
		for _, nth := range []int{9, 11, 18} { // after the first of each stream, which Prepare makes
			code, said := start(t, role{Do: "port", Env: []string{fmt.Sprintf("MSCCLC_STANDIN_FAIL=%s:%d", call, nth)}}).end(t)
			if code != 0 || !strings.Contains(said, "by the port: unknown error (driver error 999)") ||
				!strings.Contains(said, "again: <nil>") {
				t.Errorf("%s, call %d: %d %s", call, nth, code, said)
			}
		}
	}
}

// testPortStuck has a proxy stop: a call of the driver does not return. The launch runs out of time at the step whose
// copy it was, and so does closing the plan.
func testPortStuck(t *testing.T, d Device) {
	if !d.StandIn() {
		t.Skip("a driver's calls cannot be made to hang")
	}
	for do, want := range map[string][]string{
		"port":      {"all.mscl:3:", "block 0 step"},
		"portAlone": {"alone.mscl:4:", "rank 0 block 0 step", "(mv): waited 3", "for the port to copy to rank 1's scratch from 0 on"},
	} {
		begin, nth := time.Now(), 11
		if do == "portAlone" {
			nth = 5
		}
		code, said := start(t,
			role{Do: do, Env: []string{fmt.Sprintf("MSCCLC_STANDIN_FAIL=%s:%d:4242", d.copyCall(), nth)}}).end(t)
		for _, w := range append(want, "[timeout]", "again: GPU", "stopping the port",
			"close: the plan's memory is left as it is") {
			if !strings.Contains(said, w) {
				t.Errorf("%q is not in %d %s", w, code, said)
			}
		}
		if took := time.Since(begin); code != 0 || took > 40*time.Second {
			t.Errorf("code %d, after %v", code, took)
		}
	}
}

// childPort runs a program until it fails, once more after a reset, and closes it.
func childPort(ctx context.Context, d Device, r role) error {
	name, ranks, wait := "all", 4, 5*time.Second
	if r.Do == "portAlone" {
		name, ranks, wait = "alone", 2, 300*time.Millisecond
	}
	p, err := portProgram(name, ranks, ir.Simple)
	if err != nil {
		return err
	}
	g, err := newRig(ctx, d, p, plan.Options{GPUs: d.Open(0, 1), Unproven: true})
	if err != nil {
		return err
	}
	j, err := g.bind(ctx, data.I32, data.Sum, 4004, func(a *plan.CallArgs) { a.Replicas, a.TileBytes = 2, 512 })
	if err != nil {
		return err
	}
	if err := g.plan.SetWait(wait); err != nil {
		return err
	}
	begin := time.Now()
	var failed error
	if r.Do == "portAlone" {
		failed = errors.Join(j.fill(), j.call.Launch(g.streams[0]), g.plan.Wait(ctx))
	} else {
		failed = j.run(ctx)
	}
	if failed == nil {
		return errors.New("it did not fail")
	}
	fmt.Println("received:", failed)
	if strings.Contains(failed.Error(), "error 999") && time.Since(begin) > 4*time.Second {
		return fmt.Errorf("a copy that failed was reported after %v", time.Since(begin))
	}
	if err = g.plan.Reset(ctx); err == nil {
		err = j.run(ctx)
	}
	fmt.Println("again:", err)
	if err := errors.Join(j.close(), g.Close()); err != nil {
		fmt.Println("close:", err)
	}
	return nil
}

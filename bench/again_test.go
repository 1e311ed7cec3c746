//go:build cgo

package bench_test

import (
	"context"
	"errors"
	"testing"
	"time"
	"unsafe"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir"
)

// A tired device does its first launches right, and from then on what fault does.
type tired struct {
	executor.Device
	right int
	fault fault
}

// A fault is what a device does with a launch, which do would do right.
type fault func(l *executor.Launch, do func() (executor.Stop, error)) (executor.Stop, error)

func (d *tired) Open(img *abi.Image) (executor.Instance, error) {
	in, err := d.Device.Open(img)
	return &tiredInstance{in, d, 0, executor.Stop{}}, err
}

type tiredInstance struct {
	executor.Instance
	device   *tired
	launches int
	last     executor.Stop
}

func (in *tiredInstance) Launch(ctx context.Context, l *executor.Launch) (stop executor.Stop, err error) {
	do := func() (executor.Stop, error) { return in.Instance.Launch(ctx, l) }
	if in.launches++; in.launches <= in.device.right || in.device.fault == nil {
		stop, err = do()
		in.last = stop
		return stop, err
	}
	if stop, err = in.device.fault(l, do); err == nil && stop == (executor.Stop{}) {
		stop = in.last
	}
	return stop, err
}

// The faults. A stale one moves nothing: what earlier launches left stays.
var faults = map[string]fault{
	"none": nil,
	"spoils": func(l *executor.Launch, do func() (executor.Stop, error)) (executor.Stop, error) {
		stop, err := do()
		m := l.Memory[len(l.Memory)-1]
		if m.Output == nil {
			m.Output = m.Input[m.OutAt:]
		}
		m.Output[len(m.Output)-1] ^= 0x40
		return stop, err
	},
	"stale": func(*executor.Launch, func() (executor.Stop, error)) (executor.Stop, error) {
		return executor.Stop{}, nil
	},
}

// measured returns what a job measures of a collective of three ranks, out of place and in place, on a device that does
// five launches right; nil is not to be had.
func measured(t *testing.T, kind ir.Kind, fault fault) [2]*bench.Result {
	t.Helper()
	const ranks = 3
	host := bench.NewHost("cpu", ranks, executor.Options{Device: &tired{cpu.Device(), 5, fault}}, time.Minute)
	defer host.Close()
	chooser := &choose.Chooser{Device: "cpu"}
	job := &bench.Job{Site: host, Coll: &ir.Collective{Kind: kind, Ranks: ranks, Chunks: 1}, DType: data.BF16,
		RedOp: data.Sum, Sizes: []int64{3 << 10}, Measuring: bench.Measuring{Launches: 4, Replays: 3, Warmup: 1},
		Form: func(bytes int64, inplace bool) (*bench.Form, error) {
			call := choose.Call{Kind: kind, Ranks: ranks, Inplace: inplace}
			v, _, err := chooser.Choose(call, bytes, 2)
			if errors.Is(err, choose.ErrNotInPlace) {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
			p, err := chooser.Program(v, call)
			return &bench.Form{Name: v.String(), Program: p, Choice: v}, err
		}}
	report := &bench.Report{}
	if err := job.Run(context.Background(), report); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*bench.Result{report.Rows[0].OutOfPlace, report.Rows[0].InPlace} {
		if r != nil && (r.Err != nil || r.Checked == 0) {
			t.Fatalf("%+v", r)
		}
	}
	return [2]*bench.Result{report.Rows[0].OutOfPlace, report.Rows[0].InPlace}
}

// TestLate holds that a fault that shows only after the first launches is found, in reductions, whose own results are
// in place what they would reduce next, and in copies; and that a device without one is right.
func TestLate(t *testing.T) {
	for _, kind := range []ir.Kind{ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.Broadcast, ir.AllToAll} {
		for name, fault := range faults {
			for i, r := range measured(t, kind, fault) {
				if (r == nil) != (i == 1 && kind == ir.AllToAll) {
					t.Errorf("%v, in place %v: %+v", kind, i == 1, r)
				} else if r != nil && ((r.Wrong > 0) != (fault != nil) || r.Outside > 0) {
					t.Errorf("%v, in place %v, %s: %d wrong of %d, %d outside", kind, i == 1, name, r.Wrong, r.Checked, r.Outside)
				}
			}
		}
	}
}

// TestBeside holds that what one launch in the middle writes beside a buffer is found after the last replay.
func TestBeside(t *testing.T) {
	launches := 0
	for i, r := range measured(t, ir.AllReduce,
		func(l *executor.Launch, do func() (executor.Stop, error)) (executor.Stop, error) {
			if launches++; launches == 1 {
				in := l.Memory[0].Input
				*(*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(in)), len(in))) = 0
			}
			return do()
		}) {
		// the calls in place come after, in buffers that are placed anew
		if want := int64(1 - i); r.Wrong > 0 || r.Outside != want {
			t.Errorf("in place %v: %d wrong, %d outside, not %d", i == 1, r.Wrong, r.Outside, want)
		}
	}
}

package gputest

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/either"
)

// BenchRows prints how long AllReduce of rows of 8,192 bf16 takes on two ranks with an epilogue, and without: the same
// program, whose sums then go to the output as they are. Each is as wide as it is fastest. Results are compared first.
func BenchRows(b *testing.B, d Device) {
	d.need(b)
	runtime.LockOSThread()
	const then = "residual, rms_norm(eps)"
	for _, proto := range []ir.Protocol{ir.LL, ir.Simple} {
		fused, err := rowProgram("onestep", then, 2, proto)
		if err != nil {
			b.Fatal(err)
		}
		plain, err := rowProgram("onestep", "", 2, proto)
		if err != nil {
			b.Fatal(err)
		}
		fmt.Printf("%v, rows of 8192 bf16, then %s\n%6s %10s %12s %10s %12s %8s %8s\n", proto, then, "rows", "plain us",
			"(replicas)", "fused us", "(replicas)", "more us", "ratio")
		for rows := int64(1); rows <= int64(d.times(4, 512)); rows *= 2 {
			if err := benchRows(b, d, plain, fused, rows); err != nil {
				b.Fatal(err)
			}
		}
	}
}

const benchLength, benchReplicas, benchLaunches = 8192, 64, 20

// A rowContestant is a call of some width, with a graph for each stream and what its replays took.
type rowContestant struct {
	rig      *rig
	job      *job
	graphs   []executor.Graph
	took     []time.Duration
	replicas int
}

func (c *rowContestant) median() time.Duration {
	slices.Sort(c.took)
	return c.took[len(c.took)/2] / benchLaunches
}

// benchRows measures calls of some rows, all widths in turn, and prints the fastest of each kind.
func benchRows(b *testing.B, d Device, plain, fused *either.Program, rows int64) error {
	opt := plan.Options{GPUs: d.Open(numbers()...), Replicas: benchReplicas, TileBytes: 256 << 10,
		Types: []data.DType{data.BF16}, Unproven: true}
	var all [2][]*rowContestant
	for k, p := range []*either.Program{plain, fused} {
		r, err := newRig(b.Context(), d, p, opt)
		if err != nil {
			return err
		}
		defer r.Close()
		var close []func() error
		defer func() {
			for _, c := range close {
				c()
			}
		}()
		for replicas := 1; replicas <= benchReplicas && (k == 0 || int64(replicas) <= rows); replicas *= 2 {
			c := &rowContestant{rig: r, replicas: replicas}
			set := func(a *plan.CallArgs) { a.Replicas = replicas }
			if k == 0 {
				if c.job, err = r.bind(b.Context(), data.BF16, data.Sum, rows*benchLength, set); err == nil {
					close = append(close, c.job.close)
					err = c.job.run(b.Context())
				}
			} else {
				var j *rowJob
				if j, err = r.bindRows(b.Context(), newRows(p, data.BF16, rows, benchLength, 1), 0, set); err == nil {
					c.job, close = &j.job, append(close, j.close)
					err = errors.Join(j.fill(), j.launch(), r.plan.Wait(b.Context()))
				}
				if err == nil && rows <= 64 {
					err = j.compare()
				}
			}
			if errors.Is(err, executor.ErrNoDevice) { // no room for these replicas
				break
			}
			if err != nil {
				return fmt.Errorf("%d rows, %d replicas: %w", rows, replicas, err)
			}
			c.graphs = c.job.captured(b, benchLaunches)
			all[k] = append(all[k], c)
		}
	}
	for round := range d.times(2, 15) {
		for _, c := range slices.Concat(all[0], all[1]) {
			took, err := c.replay(b)
			if err != nil {
				return err
			}
			if round > 0 { // the first warms up
				c.took = append(c.took, took)
			}
		}
	}
	best := func(list []*rowContestant) *rowContestant {
		return slices.MinFunc(list, func(a, b *rowContestant) int { return cmp.Compare(a.median(), b.median()) })
	}
	p, f := best(all[0]), best(all[1])
	us := func(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1e3 }
	fmt.Printf("%6d %10.2f %12d %10.2f %12d %8.2f %8.3f\n", rows, us(p.median()), p.replicas, us(f.median()), f.replicas,
		us(f.median()-p.median()), us(f.median())/us(p.median()))
	return nil
}

// replay replays a graph once on all GPUs, and returns what it took on the one that began last: the other waited for
// it.
func (c *rowContestant) replay(b *testing.B) (took time.Duration, err error) {
	var begin, end []executor.Event
	for _, s := range c.rig.streams {
		from, err1 := s.GPU().NewEvent()
		to, err2 := s.GPU().NewEvent()
		if err := errors.Join(err1, err2); err != nil {
			return 0, err
		}
		defer from.Close()
		defer to.Close()
		begin, end = append(begin, from), append(end, to)
	}
	for i, s := range c.rig.streams {
		if err := errors.Join(s.Record(begin[i]), c.graphs[i].Launch(s), s.Record(end[i])); err != nil {
			return 0, err
		}
	}
	if err := c.rig.plan.Wait(b.Context()); err != nil {
		return 0, err
	}
	for i, s := range c.rig.streams {
		if err := s.Sync(b.Context()); err != nil {
			return 0, err
		}
		t, err := end[i].Since(begin[i])
		if err != nil {
			return 0, err
		}
		if took == 0 || t < took {
			took = t
		}
	}
	return took, nil
}

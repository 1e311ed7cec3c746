package gputest

import (
	"errors"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/lang"
)

// testNodesGraphs replays captured launches of three sizes in turn, of AllReduce and AllGather over two nodes.
func testNodesGraphs(t *testing.T, d Device) {
	gather := spread{"allgather/hierarchical", lang.Params{"nodes": 2, "gpus": 2}, true, ir.Simple, 2, 1, 2}
	for _, s := range []spread{spreads()[0], spreads()[1], gather} {
		t.Run(s.String(), func(t *testing.T) { s.graphs(t, d) })
	}
}

// graphs replays; the largest of elements is what it was, however often it is taken. Between the replays are launches
// that are not captured.
func (s spread) graphs(t *testing.T, d Device) {
	sizes := []int64{256, 3001, int64(d.times(5003, 1<<18+5))} // elements of 4 bytes
	list, replays, begun := s.rigs(t, d), d.times(4, 1000), time.Now()
	jobs, graphs := make([][]*job, len(list)), make([][][]executor.Graph, len(list))
	err := all(list, func(i int) error {
		for k, elems := range sizes {
			j, err := list[i].bind(t.Context(), data.I32, data.Max, elems*int64(list[i].plan.Program().Coll.Chunks),
				func(a *executor.CallArgs) { a.Columns = k })
			if err == nil {
				err = j.fill()
			}
			if err != nil {
				return err
			}
			jobs[i] = append(jobs[i], j)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		all(list, func(i int) (err error) {
			for _, j := range jobs[i] {
				err = errors.Join(err, j.close())
			}
			return err
		})
	})
	for i := range list {
		for _, j := range jobs[i] {
			graphs[i] = append(graphs[i], j.captured(t, 1))
		}
	}
	for n := range replays {
		if err := all(list, func(i int) (err error) {
			for k, j := range jobs[i] {
				err = errors.Join(err, j.replay(graphs[i][k]))
			}
			if n%50 == 0 || n == replays-1 {
				err = errors.Join(err, jobs[i][n/50%len(sizes)].launch(), list[i].plan.Wait(soon(t)))
				for _, j := range jobs[i] {
					err = errors.Join(err, j.compare())
				}
			}
			return err
		}); err != nil {
			t.Fatalf("replay %d: %v", n, err)
		}
	}
	t.Logf("%d replays of each of %v elements in turn: %v", replays, sizes, time.Since(begun))
}

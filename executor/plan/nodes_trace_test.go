//go:build cgo && linux

package plan_test

import (
	"errors"
	"fmt"
	"testing"

	"mscclc"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
)

// TestNodesTrace: a trace has each message of the network once at either end, with the same bytes. None is sent before
// the step that signals it has ended, and none ends after the step that awaits it. Launches before leave nothing.
func TestNodesTrace(t *testing.T) {
	for _, c := range []struct {
		name     string
		params   lang.Params
		replicas int
	}{
		{"allreduce/hierarchical", lang.Params{"nodes": "2", "gpus": "2"}, 3},
		{"broadcast/chain", lang.Params{"ranks": "4"}, 1},
		{"allgather/ring", lang.Params{"ranks": "4"}, 70}, // more than go together
	} {
		t.Run(c.name, func(t *testing.T) {
			world(t)
			p := catalog(t, c.name, c.params, func(o *mscclc.Options) {
				o.Lowered, o.OneSided = false, true
				o.Nodes = func(int) ([]int32, error) { return []int32{0, 0, 1, 1}, nil }
			})
			list := start(t, p, nodesOf(2, 1, 2), c.replicas, 1024)
			must(t, list, 1001, data.I32, data.Sum, c.replicas, 2)
			for _, m := range list {
				m.trace = &executor.Trace{}
			}
			must(t, list, 100003, data.I32, data.Sum, c.replicas, 2)
			carried := map[string]int{}
			for _, m := range list {
				traced(t, p, m.trace, carried)
			}
			for what, times := range carried {
				if times != 2 {
					t.Errorf("%s is in the traces %d times", what, times)
				}
			}
			if want := signalsAcross(p, c.replicas, list[0].trace.Passes); len(carried) != want || want == 0 {
				t.Errorf("%d messages, not %d", len(carried), want)
			}
		})
	}
}

// TestNodesTraceEnds: a traced call may be closed after its plan.
func TestNodesTraceEnds(t *testing.T) {
	world(t)
	p := catalog(t, "allgather/ring", lang.Params{"ranks": "2"}, nil)
	list := start(t, p, nodesOf(2, 1, 1), 1, 1024)
	if err := errors.Join(each(len(list), func(i int) error {
		m := list[i]
		bytes := int64(p.Coll.Chunks) * 4
		in, err1 := m.gpu.Alloc(bytes)
		out, err2 := m.gpu.Alloc(2 * bytes)
		call, err3 := m.Bind(t.Context(), plan.CallArgs{DType: data.U8, Elems: 4, Replicas: 1, Input: []uint64{in},
			Output: []uint64{out}, Trace: &executor.Trace{}})
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		return errors.Join(m.Close(), call.Close(), m.gpu.Free(in), m.gpu.Free(out))
	})...); err != nil {
		t.Error(err)
	}
}

// traced checks the messages of a process, and counts them.
func traced(t *testing.T, p *either.Program, trace *executor.Trace, carried map[string]int) {
	type place struct {
		step, replica int32
		pass          int64
	}
	ends := map[place]int64{}
	for _, s := range trace.Spans {
		ends[place{s.Step, s.Replica, s.Pass}] = int64(s.Begin + s.Length)
	}
	for i := range trace.Messages {
		m := &trace.Messages[i]
		from, to := m.Rank, m.Peer
		if m.Received {
			from, to = to, from
		}
		carried[fmt.Sprintf("message of step %d from %d to %d, pass %d, %d replicas from %d, of %d bytes", m.Step, from, to,
			m.Pass, m.Replicas, m.Replica, m.Bytes)]++
		if rank, _, _ := p.Place(m.Step); int32(rank) != from || p.Steps[m.Step].Op != ir.Signal {
			t.Errorf("%+v is not of a Signal of rank %d", m, from)
		}
		if m.Length <= 0 {
			t.Errorf("%+v has no end", m)
		}
		if !m.Received {
			if end := ends[place{m.Step, m.Replica, m.Pass}]; int64(m.Begin) < end {
				t.Errorf("%+v is sent before its step ends at %d", m, end)
			}
		}
	}
}

// signalsAcross returns how many messages a launch has between two nodes of two ranks.
func signalsAcross(p *either.Program, replicas int, passes int64) (n int) {
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Op != ir.Signal {
			continue
		}
		rank, _, _ := p.Place(int32(i))
		for _, x := range p.OneSided.Dests(s) {
			if int(x.Rank)/2 == rank/2 {
				continue
			}
			times := int(passes)
			if s.Flags&(ir.Enter|ir.Leave) != 0 {
				times = 1
			}
			n += times * ((replicas + 63) / 64)
		}
	}
	return n
}

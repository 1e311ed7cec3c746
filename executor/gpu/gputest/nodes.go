package gputest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/passes/core"
	"mscclc/transport"
	"mscclc/transport/enginetest"
)

// This file has ranks be of several nodes. All of them are in this process, on the GPUs that there are, and an engine
// in memory carries what crosses; or each is a process, with UCX between them.

// A spread is a program of several nodes: the numbers of nodes, of processes per node, and of ranks per process.
type spread struct {
	name                    string
	params                  lang.Params
	lowered                 bool // from a two-sided program
	proto                   ir.Protocol
	nodes, processes, ranks int
	lanes, together         int
}

func (s spread) String() string {
	return fmt.Sprintf("%s %v %v lowered %v, %d nodes of %d processes of %d", s.name, s.params, s.proto, s.lowered, s.nodes,
		s.processes, s.ranks)
}

// program compiles a spread, and proves it for its nodes.
func (s spread) program() (*either.Program, error) {
	text, err := algorithms.Open(s.name)
	if err != nil {
		return nil, err
	}
	inplace := false
	opt := mscclc.Options{Lowered: s.lowered, OneSided: !s.lowered,
		Core: core.Options{Lanes: s.lanes, Together: s.together},
		Lang: lang.Options{Params: s.params, Protocol: &s.proto, Inplace: &inplace, Open: algorithms.Open}}
	if !s.lowered {
		opt.Nodes = func(ranks int) ([]int32, error) {
			node := make([]int32, ranks)
			for r := range node {
				node[r] = int32(r / (s.processes * s.ranks))
			}
			return node, nil
		}
	}
	return mscclc.Compile(s.name, text, opt)
}

// all does something in all processes of a job.
func all[T any](list []T, do func(i int) error) error {
	errs := make([]error, len(list))
	var group sync.WaitGroup
	for i := range list {
		group.Go(func() { errs[i] = do(i) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// worlds counts the engines of tests.
var worlds atomic.Int64

// rigs prepares a spread, a rig for each process. An engine of their own carries what crosses.
func (s spread) rigs(t *testing.T, d Device) []*rig {
	t.Helper()
	enginetest.Use()
	world := worlds.Add(1)
	t.Setenv(transport.NetVariable, fmt.Sprintf("test:nodes%d,seed=%d", world, world))
	p, err := s.program()
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	list := make([]*rig, s.nodes*s.processes)
	group := exchange.Group(len(list))
	if err := all(list, func(i int) (err error) {
		var own []int
		for r := range s.ranks {
			own = append(own, i*s.ranks+r)
		}
		list[i], err = newRig(t.Context(), d, p, plan.Options{GPUs: d.Open(numbers()...), Exchange: group[i],
			Ranks: own, Node: fmt.Sprint("n", i/s.processes), Replicas: 3, TileBytes: 1024, Unproven: true})
		return err
	}); err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	t.Cleanup(func() {
		if err := all(list, func(i int) error { return list[i].Close() }); err != nil {
			t.Error(err)
		}
	})
	return list
}

// spreads are programs of several nodes: of packets within a node, and of slots.
func spreads() []spread {
	two := func(name string, lowered bool, proto ir.Protocol, processes int) spread {
		return spread{name, lang.Params{"nodes": 2, "gpus": 2}, lowered, proto, 2, processes, 2 / processes, 0, 0}
	}
	return []spread{
		two("allreduce/hierarchical", false, ir.LL, 1), two("allreduce/hierarchical", true, ir.Simple, 2),
		two("alltoall/two_step", false, ir.Simple, 2), two("allreduce/hierarchical", false, ir.LL128, 2),
		{"allreduce/ring", lang.Params{"ranks": 3}, true, ir.Simple, 3, 1, 1, 0, 0},
		{"allgather/ring", lang.Params{"ranks": 4}, false, ir.LL, 2, 1, 2, 0, 0},
	}
}

// testNodes runs programs of several nodes at odd sizes, in several replicas and tile iterations.
func testNodes(t *testing.T, d Device) {
	for i, s := range spreads() {
		if !d.takes(i) {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			list := s.rigs(t, d)
			for k, elems := range []int64{0, 1, 5, 1000, 10007} {
				dt := []data.DType{data.I32, data.BF16, data.U8}[k%3]
				for range 2 {
					if err := all(list, func(i int) error {
						return list[i].once(soon(t), dt, data.Sum, elems, func(a *plan.CallArgs) { a.Replicas = k % 4 })
					}); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// testNodesTogether has replicas of lanes that only copy to other nodes share CTAs, with fewer replicas than share one
// and with some left over. It holds that there are such lanes.
func testNodesTogether(t *testing.T, d Device) {
	for i, s := range []spread{
		{"allgather/multinode_allpairs", lang.Params{"nodes": 2, "gpus": 2}, false, ir.Simple, 2, 2, 1, 8, 2},
		{"allgather/multinode_allpairs", lang.Params{"nodes": 2, "gpus": 2}, false, ir.Simple, 2, 2, 1, 8, 4},
		{"allreduce/multinode_allpairs", lang.Params{"nodes": 2, "gpus": 2}, false, ir.LL, 2, 1, 2, 8, 4},
	} {
		if d.takes(i) {
			t.Run(fmt.Sprintf("%v together=%d", s, s.together), func(t *testing.T) { s.runTogether(t, d) })
		}
	}
}

// runTogether runs calls of one to three replicas.
func (s spread) runTogether(t *testing.T, d Device) {
	list := s.rigs(t, d)
	blocks := len(list[0].plan.Program().TBsOf(0)) * s.ranks
	fewer := false
	for _, elems := range []int64{3, 1001, 20011, 40000} {
		for replicas := 1; replicas <= 3; replicas++ {
			var ctas atomic.Int64
			err := all(list, func(i int) error {
				j, err := list[i].bind(t.Context(), data.I32, data.Sum, elems, func(a *plan.CallArgs) { a.Replicas = replicas })
				if err != nil {
					return err
				}
				ctas.Store(int64(j.call.CTAs()))
				err = j.run(soon(t))
				return errors.Join(err, j.close())
			})
			if err != nil {
				t.Fatalf("%d elements, %d replicas: %v", elems, replicas, err)
			}
			fewer = fewer || ctas.Load() < int64(replicas*blocks)
		}
	}
	if can := d.Name == "cuda"; fewer != can {
		t.Errorf("CTAs are shared: %v, want %v", fewer, can)
	}
}

// testNodesReset has one process not launch: the others receive which step waited, and all run well after a reset.
func testNodesReset(t *testing.T, d Device) {
	s := spreads()[1]
	list := s.rigs(t, d)
	run := func() error {
		return all(list, func(i int) error { return list[i].once(soon(t), data.I32, data.Sum, 5003, nil) })
	}
	for range 2 {
		if err := run(); err != nil {
			t.Fatal(err)
		}
		errs := make([]error, len(list))
		all(list, func(i int) error {
			j, err := list[i].bind(t.Context(), data.I32, data.Sum, 5003, nil)
			if err == nil {
				err = list[i].plan.SetWait(500 * time.Millisecond)
			}
			if err == nil && i > 0 {
				err = j.launch()
			}
			errs[i] = errors.Join(err, list[i].plan.Wait(soon(t)))
			return j.close()
		})
		for i, err := range errs[1:] {
			if err == nil || !strings.Contains(err.Error(), "waited") {
				t.Errorf("process %d: %v", i+1, err)
			}
		}
		if err := all(list, func(i int) error {
			return errors.Join(list[i].plan.Reset(t.Context()), list[i].plan.SetWait(20*time.Second))
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(); err != nil {
		t.Error(err)
	}
}

// testNodesTrace traces a launch of several nodes, where images trace.
func testNodesTrace(t *testing.T, d Device) {
	list := spreads()[0].rigs(t, d)
	err := all(list, func(i int) error {
		trace := &executor.Trace{}
		j, err := list[i].bind(t.Context(), data.F32, data.Sum, 3001, func(a *plan.CallArgs) { a.Trace = trace })
		if err != nil {
			return err
		}
		err = errors.Join(j.run(soon(t)), j.call.TakeTrace())
		if err == nil && (len(trace.Spans) == 0 || len(trace.Messages) == 0) {
			err = errNothing
		}
		return errors.Join(err, j.close())
	})
	if d.Name == "cuda" && err != nil || d.Name != "cuda" && err == nil {
		t.Error(err)
	}
}

// nodeSpread is what processes run: two nodes of two.
var nodeSpread = spread{"allreduce/hierarchical", lang.Params{"nodes": 2, "gpus": 2}, false, ir.LL, 2, 2, 1, 0, 0}

// needUCX skips a test where UCX is not installed.
func needUCX(t *testing.T) {
	t.Helper()
	p, err := transport.Open("ucx")
	if err != nil {
		t.Skip(err)
	}
	p.Close()
}

// testNodesProcesses has a process for each rank, and UCX between nodes.
func testNodesProcesses(t *testing.T, d Device) {
	needUCX(t)
	at, size := address(t), nodeSpread.nodes*nodeSpread.processes
	var list []*running
	for i := range size {
		list = append(list, start(t, role{Do: "node", Address: at, Index: i, Size: size,
			Env: []string{transport.NetVariable + "=ucx", "UCX_TLS=tcp,self"}}))
	}
	for i, c := range list {
		if code, said := c.end(t); code != 0 {
			t.Errorf("process %d: %s", i, said)
		}
	}
}

// childNode runs its rank several times.
func childNode(ctx context.Context, d Device, r role) error {
	x, err := exchange.Join(ctx, exchange.At(r.Address), r.Index, r.Size)
	if err != nil {
		return err
	}
	gpus, err := d.Open().GPUs()
	if err != nil {
		return err
	}
	p, err := nodeSpread.program()
	if err != nil {
		return err
	}
	g, err := newRig(ctx, d, p, plan.Options{GPUs: d.Open(r.Index % len(gpus)), Exchange: x,
		Node: fmt.Sprint(r.Index / nodeSpread.processes), Replicas: 2, TileBytes: 4096})
	if err != nil {
		return err
	}
	for k := range 5 {
		if err := g.once(ctx, data.BF16, data.Max, int64(k*1001), nil); err != nil {
			return err
		}
	}
	return errors.Join(g.Close(), x.Close())
}

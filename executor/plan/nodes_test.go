//go:build cgo && linux

package plan_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/executor/host"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/transport"
	"mscclc/transport/enginetest"
)

// catalog compiles a program of the catalog in protocol Simple, lowered or one-sided and staged.
func catalog(t *testing.T, name string, params lang.Params, change func(*mscclc.Options)) *either.Program {
	t.Helper()
	text, err := algorithms.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	proto, inplace := ir.Simple, false
	opt := mscclc.Options{Lowered: true,
		Lang: lang.Options{Params: params, Protocol: &proto, Inplace: &inplace, Open: algorithms.Open}}
	if change != nil {
		change(&opt)
	}
	p, err := mscclc.Compile(name+".mscl", text, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A member is a process of a test, all of which are this one.
type member struct {
	*plan.Plan
	gpu    executor.GPU
	stream executor.Stream
	ranks  []int

	launched func()          // is called when a call's launches have begun, or nil
	trace    *executor.Trace // of the last launch of a call, or nil
}

// A layout says where the ranks of a test are: by process, and the node of each process.
type layout struct {
	ranks [][]int
	node  []string
}

// nodesOf has a number of nodes, with a number of processes each, of a number of ranks each.
func nodesOf(nodes, processes, ranks int) (l layout) {
	for p := range nodes * processes {
		var own []int
		for r := range ranks {
			own = append(own, p*ranks+r)
		}
		l.ranks = append(l.ranks, own)
		l.node = append(l.node, fmt.Sprint("n", p/processes))
	}
	return l
}

// world has the plans of a test carried by an engine of its own, in memory.
func world(t *testing.T) {
	t.Helper()
	enginetest.Use()
	t.Setenv(transport.NetVariable, fmt.Sprintf("test:%s,seed=%d", strings.ReplaceAll(t.Name(), ",", " "), len(t.Name())))
}

// each does something in all processes of a job, and returns what they have failed with.
func each(count int, do func(i int) error) []error {
	errs := make([]error, count)
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errs
}

// prepare has the processes of a layout prepare a program.
func prepare(ctx context.Context, p *either.Program, l layout, replicas int, tile int64) ([]*member, []error) {
	group := exchange.Group(len(l.ranks))
	list := make([]*member, len(l.ranks))
	return list, each(len(list), func(i int) error {
		gpus := host.New(host.Options{Threads: 1})
		all, err := gpus.GPUs()
		if err != nil {
			return err
		}
		m := &member{gpu: all[0], ranks: l.ranks[i]}
		if m.stream, err = m.gpu.NewStream(); err != nil {
			return err
		}
		list[i] = m
		m.Plan, err = plan.Prepare(ctx, p, plan.Options{GPUs: gpus, Exchange: group[i], Ranks: l.ranks[i],
			Node: l.node[i], Replicas: replicas, TileBytes: tile, Unproven: true})
		return err
	})
}

// start is prepare of what must succeed, and closes it.
func start(t *testing.T, p *either.Program, l layout, replicas int, tile int64) []*member {
	t.Helper()
	list, errs := prepare(t.Context(), p, l, replicas, tile)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(each(len(list), func(i int) error {
			return errors.Join(list[i].Close(), list[i].stream.Close())
		})...); err != nil {
			t.Error(err)
		}
	})
	return list
}

// run has a process do its part of a call, several times and of the same buffers, and checks its outputs.
func (m *member) run(ctx context.Context, elems int64, dt data.DType, op data.RedOp, replicas, times int) error {
	c := m.Program().Coll
	buffers := data.NewFor(m.ranks, data.NewGeometry(c, elems, dt.Size()), dt, op, uint64(elems)+uint64(dt))
	all := executor.DataArgs(buffers)
	args := plan.CallArgs{DType: dt, RedOp: op, Elems: elems, Replicas: replicas, Trace: m.trace}
	for _, r := range m.ranks {
		for k, list := range []*[]uint64{&args.Input, &args.Output} {
			from := [2][][]byte{all.Input, all.Output}[k]
			if from == nil { // in place
				continue
			}
			a, err := m.gpu.Alloc(int64(len(from[r])) + 1)
			if err != nil {
				return err
			}
			defer m.gpu.Free(a)
			if err := m.stream.Put(a, from[r]); err != nil {
				return err
			}
			*list = append(*list, a)
		}
	}
	call, err := m.Bind(ctx, args)
	if err != nil {
		return err
	}
	defer call.Close()
	for range times {
		if err := call.Launch(m.stream); err != nil {
			return err
		}
	}
	if m.launched != nil {
		m.launched()
	}
	if err := m.Wait(ctx); err != nil {
		return err
	}
	if m.trace != nil {
		if err := call.TakeTrace(); err != nil {
			return err
		}
	}
	for i, r := range m.ranks {
		err := m.stream.Get(all.Input[r], args.Input[i])
		if all.Output != nil {
			err = errors.Join(err, m.stream.Get(all.Output[r], args.Output[i]))
		}
		if err != nil {
			return err
		}
	}
	rep := buffers.CheckRanks(m.ranks)
	if m.Program().ModifiesInput() {
		rep.Changed = nil
	}
	return rep.Err()
}

// must runs a call in all processes.
func must(t *testing.T, list []*member, elems int64, dt data.DType, op data.RedOp, replicas, times int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := errors.Join(each(len(list), func(i int) error {
		return list[i].run(ctx, elems, dt, op, replicas, times)
	})...); err != nil {
		t.Fatalf("%d elements of %v, %d replicas: %v", elems, dt, replicas, err)
	}
}

// TestNodes runs programs over nodes, at odd sizes, with several replicas and tile iterations.
func TestNodes(t *testing.T) {
	for _, c := range []struct {
		name   string
		params lang.Params
		layout layout
	}{
		{"allreduce/ring", lang.Params{"ranks": "4"}, nodesOf(2, 1, 2)},
		{"allreduce/ring", lang.Params{"ranks": "6"}, nodesOf(3, 2, 1)},
		{"allreduce/hierarchical", lang.Params{"nodes": "3", "gpus": "2"}, nodesOf(3, 1, 2)},
		{"allreduce/allpairs", lang.Params{"ranks": "4"}, nodesOf(2, 2, 1)},
		{"alltoall/two_step", lang.Params{"nodes": "2", "gpus": "2"}, nodesOf(2, 1, 2)},
		{"allgather/ring", lang.Params{"ranks": "4"}, layout{[][]int{{2}, {0, 3}, {1}}, []string{"a", "b", "a"}}},
	} {
		t.Run(c.name+fmt.Sprint(c.layout.node), func(t *testing.T) {
			world(t)
			list := start(t, catalog(t, c.name, c.params, nil), c.layout, 3, 1024)
			for i, elems := range []int64{0, 1, 5, 1000, 10007} {
				must(t, list, elems, data.DType(i*5)%data.NumDTypes, data.Sum, i%4, 3)
			}
		})
	}
}

// TestNodesRefuse has programs refused that no network can run, in all processes.
func TestNodesRefuse(t *testing.T) {
	oneSided := func(proto ir.Protocol) func(*mscclc.Options) {
		return func(o *mscclc.Options) { o.Lowered, o.OneSided, o.Lang.Protocol = false, true, &proto }
	}
	for _, c := range []struct {
		name       string
		change     func(*mscclc.Options)
		want, hint string
	}{
		{"allreduce/ring", func(o *mscclc.Options) { o.Lowered = false }, "two-sided program runs within one node",
			"--sided lowered"},
		{"allreduce/ring", oneSided(ir.LL), "sends packets to rank", "--sided one --nodes N"},
		{"alltoall/one_step", oneSided(ir.Simple), "writes output of rank", "--nodes N"},
	} {
		p := catalog(t, c.name, lang.Params{"ranks": "4"}, c.change)
		_, errs := prepare(t.Context(), p, nodesOf(2, 1, 2), 1, 1024)
		for i, err := range errs {
			var list diag.List
			if !errors.As(err, &list) || !strings.Contains(list[0].Text, c.want) || !strings.Contains(list[0].Hint, c.hint) ||
				len(list[0].Notes) != 1 || list[0].Notes[0].Text != "the processes have ranks 0, 1 on node n0; 2, 3 on node n1" {
				t.Errorf("%s, process %d: %v", c.name, i, err)
			}
		}
	}
}

// TestNodesReset has one process not launch: all processes receive which step waited, and run well after a reset.
func TestNodesReset(t *testing.T) {
	world(t)
	list := start(t, catalog(t, "allreduce/ring", lang.Params{"ranks": "4"}, nil), nodesOf(2, 1, 2), 2, 1024)
	for range 2 {
		must(t, list, 10007, data.I32, data.Sum, 2, 2)
		errs := each(len(list), func(i int) error {
			if err := list[i].SetWait(300 * time.Millisecond); err != nil {
				return err
			}
			return list[i].run(t.Context(), 10007, data.I32, data.Sum, 2, 1-i)
		})
		if err := errs[0]; err == nil || !strings.Contains(err.Error(), "waited") ||
			!strings.Contains(err.Error(), "ring.mscl:") {
			t.Error(err)
		}
		if err := errors.Join(each(len(list), func(i int) error {
			return errors.Join(list[i].Reset(t.Context()), list[i].SetWait(20*time.Second))
		})...); err != nil {
			t.Fatal(err)
		}
	}
	must(t, list, 10007, data.F32, data.Max, 2, 2)
}

// TestNodesLost has connections between nodes end: all processes name the process, its ranks and its node, and the step
// that waited.
func TestNodesLost(t *testing.T) {
	world(t)
	t.Setenv(transport.NetVariable, "test:lost,kill=500")
	list := start(t, catalog(t, "allreduce/ring", lang.Params{"ranks": "4"}, nil), nodesOf(2, 1, 2), 2, 1024)
	lost := regexp.MustCompile(`ring.mscl:.* process [01] \(ranks (0, 1, node n0|2, 3, node n1)\): .*; rank .* waited`)
	for i, err := range each(len(list), func(i int) error {
		return list[i].run(t.Context(), 1000003, data.I32, data.Sum, 2, 20)
	}) {
		if err == nil || !lost.MatchString(err.Error()) {
			t.Errorf("process %d: %v", i, err)
		}
	}
	for i, err := range each(len(list), func(i int) error { return list[i].Reset(t.Context()) }) {
		if err == nil {
			t.Errorf("process %d is reset, without a network", i)
		}
	}
}

// TestNodesRule has a program be refused in which a third rank signals data of another node to a rank.
func TestNodesRule(t *testing.T) {
	world(t)
	text, err := os.ReadFile("../../ir/diag/examples/across-nodes.json")
	if err != nil {
		t.Fatal(err)
	}
	// Rank 0 signals rank 2 too, which awaits that after what it reads.
	changed := strings.NewReplacer(`"to":[{"rank":1,"buf":"f","index":0}]`,
		`"to":[{"rank":1,"buf":"f","index":0},{"rank":2,"buf":"f","index":1}]`, `"rank":2,"scratch":1,"flags":1`,
		`"rank":2,"scratch":1,"flags":2`, `{"op":"signal","to":[{"rank":3,"buf":"f","index":0}],"count":0}`,
		`{"op":"signal","to":[{"rank":3,"buf":"f","index":0}],"count":0},
		{"op":"wait","from":[{"rank":2,"buf":"f","index":1,"nth":1}],"count":0}`).Replace(string(text))
	p, err := mscclc.ReadProgram(codegen.KindProgramJSON, "rule.json", strings.NewReader(changed), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	group := exchange.Group(2)
	for i, err := range each(2, func(i int) error {
		_, err := plan.Prepare(t.Context(), p, plan.Options{GPUs: host.New(host.Options{Threads: 1}),
			Exchange: group[i], Ranks: []int{2 * i, 2*i + 1}, Node: fmt.Sprint(i)})
		return err
	}) {
		var list diag.List
		if !errors.As(err, &list) || list[0].Code != diag.AcrossNodes ||
			!strings.Contains(list[0].Text, "from another node may arrive later") {
			t.Errorf("process %d: %v", i, err)
		}
	}
}

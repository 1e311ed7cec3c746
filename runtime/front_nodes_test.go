package runtime_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/ir"
)

// nodesBundle makes a bundle for ranks on several nodes, with rules for all collectives: packets for small calls, and
// scratch for others. Replicas of AllGather share CTAs in large calls where all nodes have equally many ranks.
func nodesBundle(t *testing.T, types []data.DType, ranks int, nodes string) *bundle.Bundle {
	t.Helper()
	even := !strings.Contains(nodes, ",") // else four lanes have none that only copies to other nodes
	spec := bundle.Spec{Device: device, Ranks: []int{ranks}, DTypes: types, CTAs: 8}
	for _, kind := range bundle.Kinds {
		name := map[ir.Kind]string{ir.AllReduce: "allpairs", ir.AllGather: "ring", ir.ReduceScatter: "allpairs",
			ir.AllToAll: "one_step", ir.Broadcast: "direct", ir.ReduceTo: "direct", ir.Gather: "direct",
			ir.Scatter: "direct"}[kind]
		small := bundle.Forward(kind, ranks)
		small.Nodes, small.Program, small.Protocol, small.Tile = nodes, kind.String()+"/"+name, ir.LL, 4096
		small.UpTo, small.Replicas, small.Threads = 16<<10, 1, 64
		large := small
		large.UpTo, large.Protocol, large.Tile, large.Replicas = 0, ir.Simple, 8192, 2
		if kind == ir.AllGather || kind == ir.ReduceScatter {
			large.Program, large.Threads = kind.String()+"/ring", 128
			large.InLanes.Lanes = 4
			if even {
				large.Together = 4
			}
		}
		if kind.Rooted() {
			large.Replicas = 1
			spec.Rules = append(spec.Rules, large)
			continue
		}
		spec.Rules = append(spec.Rules, small, large)
	}
	b, err := bundle.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	shares := slices.ContainsFunc(b.Programs, func(p *bundle.Program) bool { return p.Shared() > 1 })
	if shares != even {
		t.Errorf("replicas share CTAs: %t on nodes of %s", shares, nodes)
	}
	return b
}

// nodesFile writes such a bundle.
func nodesFile(t *testing.T, types []data.DType, ranks int, nodes string) string {
	t.Helper()
	return write(t, bundle.Encode(nodesBundle(t, types, ranks, nodes)))
}

// onNodes has ranks be of nodes, and messages between them go by UCX over TCP.
func onNodes(node ...string) (env []string, of func(int) []string) {
	return []string{"UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo"}, func(rank int) []string {
		return []string{"MSCCLC_NODE=" + node[rank]}
	}
}

// hasUCX reports whether the machine has UCX.
func hasUCX() bool {
	out, err := exec.Command("/sbin/ldconfig", "-p").Output()
	return err == nil && strings.Contains(string(out), "libucp.so.0")
}

func needUCX(t *testing.T) {
	t.Helper()
	if !hasUCX() {
		t.Skip("there is no UCX")
	}
}

// nodes has ranks on two nodes that share the GPU: all functions, graphs, a killed rank, and the engine's parts.
func (s *sheet) nodes(t *testing.T) {
	if !hasUCX() {
		s.rows = append(s.rows, "two nodes: not run, there is no UCX")
		return
	}
	file := nodesFile(t, []data.DType{data.F32, data.BF16, data.I64}, 4, "2")
	over := site{how: "alone", ranks: 4, bundle: file}
	over.env, over.of = onNodes("a", "a", "b", "b")
	over.env = append(over.env, shared()...)
	for name, calls := range map[string][]string{
		"calls": {"init 0", "allreduce 0 1000 7 0 0 0 v", "allreduce 0 70001 9 0 0 1 vu", "allgather 0 30000 7 0 0 0 vi",
			"reducescatter 0 5001 4 2 0 0 v", "alltoall 0 9000 7 0 0 2 v", "broadcast 0 777 7 0 3 0 v",
			"reduce 0 4097 9 0 1 0 vm", "gather 0 3000 7 0 2 0 v", "scatter 0 3000 7 0 1 1 v", "sync", "destroy 0"},
		"captures": {"init 0", "capture 0", "allreduce 0 1000 7 0 0 0 v", "allgather 0 30000 7 0 0 0 v", "endcapture 0 20",
			"sync", "allreduce 0 70000 7 0 0 1 v", "sync", "destroy 0"},
	} {
		s.do(t, "two nodes, "+name, func(t *testing.T) string { return over.do(t, calls...).natives(t) })
	}
	s.do(t, "two nodes, a killed rank", func(t *testing.T) string {
		const call = "allreduce 0 1000 7 0 0 0"
		r := over.do(t, "init 0", call+" v", "sync", "@0 "+call, "@2 "+call, "@3 "+call, "sleep 300",
			"meet 1", "kill 1", "timed untilerror 0", "timed abort 0")
		if r.failed[0] != nil || !strings.Contains(r.output, "rank 2: error 6: rank 2: the network to rank ") {
			t.Errorf("%v\n%s", r.failed, r.output)
		}
		return fmt.Sprintf("error after %.0f ms, abort %.0f ms", slices.Max(r.times(t, "untilerror")),
			slices.Max(r.times(t, "abort")))
	})
	if !onGPU() {
		return // TestEngineNodes has this
	}
	for how, parts := range map[string]string{"threads": "every streams captures abort", "processes": "every lives"} {
		s.do(t, "two nodes, engine, "+how, func(t *testing.T) string {
			env := append(append(over.env[:len(over.env):len(over.env)], "ENGINE_NODE=1"), "LIVES=10")
			engine(t, engineProgram(t), nodesFile(t, engineTypes, 2, "2"), how, 2, strings.Fields(parts), env...)
			return ""
		})
	}
}

// TestFrontNodes: on two nodes, all functions give right results, for types, operations, odd sizes and placements, and
// where graphs are replayed.
func TestFrontNodes(t *testing.T) {
	needUCX(t)
	for _, c := range []struct {
		how, nodes, helpers string
		node                []string
		period              int
	}{
		{"alone", "2", "2", []string{"a", "a", "b", "b"}, 16},
		{"preload", "1,2", "0", []string{"one", "two", "two"}, 32},
	} {
		t.Run(c.how, func(t *testing.T) {
			ranks := len(c.node)
			s := site{how: c.how, ranks: ranks, bundle: nodesFile(t, allTypes(), ranks, c.nodes)}
			s.env, s.of = onNodes(c.node...)
			s.env = append(s.env, "MSCCLC_NET_THREADS="+c.helpers)
			calls := allCalls(ranks, c.period)
			calls = append(calls[:len(calls)-2], "sync", "capture 0", "allreduce 0 1000 7 0 0 0 v",
				"allgather 0 30000 7 0 0 0 v", "reducescatter 0 5001 9 0 0 0 v", "endcapture 0 5", "sync",
				"allreduce 0 70000 7 0 0 1 v", "sync", "destroy 0")
			r := s.do(t, calls...).well(t)
			if strings.Contains(r.stats, `"native":false`) || !strings.Contains(r.stats, `"native":true`) {
				t.Errorf("calls were: %s", r.stats)
			}
		})
	}
}

// TestEngineNodes runs all programs of a bundle for two nodes, with ranks as threads and as processes. Teams connect
// all programs, so that few of them are made.
func TestEngineNodes(t *testing.T) {
	needUCX(t)
	file := nodesFile(t, engineTypes, 4, "2")
	env, _ := onNodes()
	env = append(env, "ENGINE_NODE=2")
	parts := strings.Fields("every mixes streams captures")
	engine(t, engineProgram(t), file, "threads", 4, parts, env...)
	engine(t, engineProgram(t), file, "processes", 4, strings.Fields("every abort lives"),
		append(env, "LIVES=10")...)
}

// TestFrontNodesFails: a rank that is killed is an error of ranks on both nodes, which names a rank, a step and a line.
func TestFrontNodesFails(t *testing.T) {
	needUCX(t)
	s := site{how: "alone", ranks: 4, bundle: nodesFile(t, []data.DType{data.F32}, 4, "2")}
	s.env, s.of = onNodes("a", "a", "b", "b")
	s.env = append(s.env, "MSCCLC_NET_THREADS=1")
	const call = "allreduce 0 100000 7 0 0 0"
	r := s.do(t, "init 0", call+" v", "sync", "@0 "+call, "@2 "+call, "@3 "+call, "sleep 300", "meet 1", "kill 1",
		"untilerror 0", "abort 0")
	for rank, err := range r.failed {
		if (err != nil) != (rank == 1) {
			t.Errorf("rank %d ends with %v\n%s", rank, err, r.output)
		}
	}
	for _, want := range []string{"rank 0: error 6: ", "the process of rank 1 ",
		"rank 2: error 6: rank 2: the network to rank ", "rank 3: error 6: rank 3: the network to rank ", " on node a: ",
		"allreduce/allpairs Simple on nodes of 2,2: block ",
		"allreduce/allpairs.mscl:"} {
		if !strings.Contains(r.output, want) {
			t.Errorf("%q is not in the output:\n%s", want, r.output)
		}
	}
}

// TestFrontNodesExit: programs that end without a word leave their communicators properly.
func TestFrontNodesExit(t *testing.T) {
	needUCX(t)
	for _, c := range []struct {
		how  string
		node []string
	}{{"alone", []string{"a", "a", "b", "b"}}, {"preload", []string{"a", "b"}}} {
		ranks := len(c.node)
		s := site{how: c.how, ranks: ranks, bundle: nodesFile(t, []data.DType{data.F32}, ranks, "2")}
		s.env, s.of = onNodes(c.node...)
		r := s.do(t, "init 0", "allreduce 0 100000 7 0 0 0 v", "sync", "@0 sleep 500", "@0 well 0").well(t)
		if strings.Contains(r.output, "rank ") {
			t.Errorf("%s:\n%s", c.how, r.output)
		}
	}
}

// TestFrontNodesForward: NCCL runs all calls over nodes that no rule is for, and where there is no network: one line
// says why.
func TestFrontNodesForward(t *testing.T) {
	for _, c := range []struct{ nodes, net, want string }{
		{"3,1", "ucx", "the ranks are on several nodes, and no rules are for ranks that lie so"},
		{"2", "ncclnet:/nowhere/libx.so", "the network between nodes, ncclnet:/nowhere/libx.so: "},
	} {
		s := site{how: "preload", ranks: 4, bundle: nodesFile(t, []data.DType{data.F32}, 4, c.nodes)}
		s.env, s.of = onNodes("a", "a", "b", "b")
		s.env = append(s.env, "MSCCLC_NET="+c.net)
		r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0", "sync", "destroy 0").well(t)
		if strings.Count(r.output, c.want) != 1 || strings.Contains(r.stats, `"native":true`) {
			t.Errorf("%s: %s\n%s", c.nodes, r.output, r.stats)
		}
	}
}

// TestFrontNodesMany makes and destroys communicators over nodes beside one that stays.
func TestFrontNodesMany(t *testing.T) {
	t.Parallel()
	needUCX(t)
	var commands []string
	for i := range 5 {
		commands = append(commands, fmt.Sprint("init 1 4 0 ", i), "allreduce 1 1000 7 0 0 0 v", "sync", "destroy 1",
			"allgather 0 3000 7 0 0 0 v")
	}
	s := site{how: "alone", ranks: 4, bundle: nodesFile(t, []data.DType{data.F32}, 4, "2")}
	s.env, s.of = onNodes("a", "a", "b", "b")
	s.env = append(s.env, "MSCCLC_NET_THREADS=2")
	r := s.do(t, append(append([]string{"init 0"}, commands...), "sync", "destroy 0")...).well(t)
	if strings.Contains(r.stats, `"native":false`) {
		t.Errorf("calls were: %s", r.stats)
	}
}

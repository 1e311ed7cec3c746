package gputest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/executor/measure"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest/parse"
	"mscclc/ir/verify"
	"mscclc/lang"
	"mscclc/transport"
)

// testNodesGraphs replays captured launches of three sizes in turn, of AllReduce and AllGather over two nodes.
func testNodesGraphs(t *testing.T, d Device) {
	gather := spread{"allgather/hierarchical", lang.Params{"nodes": 2, "gpus": 2}, true, ir.Simple, 2, 1, 2, 0, 0}
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
				func(a *plan.CallArgs) { a.Replicas = k })
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

// hops returns a program in which a chunk goes to and fro between two ranks, a number of times each way.
func hops(each int) (*either.Program, error) {
	var ranks [2]strings.Builder
	for r := range ranks {
		b, from, n := &ranks[r], "input[0]", 0
		say := func(format string, args ...any) {
			fmt.Fprintf(b, "  %d "+format+"\n", append([]any{n}, args...)...)
			n++
		}
		fmt.Fprintf(b, "block %d.0\n", r)
		for k := range each {
			if k > 0 || r == 1 {
				say("wait flags[0] x%d", k+r)
				from = "scratch[0]"
			}
			if r == 1 && k == each-1 { // before its last signal, so that its scratch may be overwritten
				say("mv scratch[0] -> output[0]")
			}
			say("mv %s -> %d:scratch[0]", from, 1-r)
			say("signal %d:flags[0]", 1-r)
		}
		if r == 0 {
			say("wait flags[0] x%d", each)
			say("mv scratch[0] -> output[0]")
		}
	}
	p, err := parse.Program("hops", []byte("program hops\ncollective custom ranks=2 chunks=1 in=1 out=1\n"+
		"require 0 output[0] = 0 input[0]\nrequire 1 output[0] = 0 input[0]\nscratch 1,1\neven\n"+
		"onesided depth 1\nflags 1,1\n"+ranks[0].String()+ranks[1].String()))
	if err != nil {
		return nil, err
	}
	_, found := verify.Check(p, verify.Options{})
	return p, errors.Join(found.Err(), verify.AcrossNodes(p, []int32{0, 1}).Err())
}

// testNodesHop measures 8 bytes from a kernel of a node to one of another, over UCX's TCP. Each node has a proxy of its
// own, but both are in this process: on one GPU kernels of two processes run in turns. What programs of few and of many
// hops take differs by hops alone. Beside it stands what two proxies without kernels take.
func testNodesHop(t *testing.T, d Device) {
	needUCX(t)
	t.Setenv("UCX_TLS", "tcp,self")
	const few = 1
	many := d.times(5, 51)
	var took [2]time.Duration
	for k, each := range []int{few, many} {
		took[k] = hopping(t, d, each)
	}
	hop := (took[1] - took[0]) / time.Duration(2*(many-few))
	var net [2]*running
	for i, at := 0, address(t); i < len(net); i++ {
		net[i] = start(t, role{Do: "net", Address: at, Index: i, Size: len(net),
			Env: []string{transport.NetVariable + "=ucx"}})
	}
	var alone string
	for i, c := range net {
		code, said := c.end(t)
		if code != 0 {
			t.Errorf("process %d: %s", i, said)
		}
		alone, _, _ = strings.Cut(said, "\n")
	}
	t.Logf("8 bytes from kernel to kernel take %v (%d hops each way: %v, %d: %v); %s", hop, few, took[0], many, took[1],
		alone)
}

// hopping returns what a launch of a program of hops takes, the median of graphs of some.
func hopping(t *testing.T, d Device, each int) time.Duration {
	t.Helper()
	p, err := hops(each)
	if err != nil {
		t.Fatal(err)
	}
	const launches = 10
	list, jobs, graphs := make([]*rig, 2), make([]*job, 2), make([][]executor.Graph, 2)
	group := exchange.Group(len(list))
	if err := all(list, func(i int) (err error) {
		opt := plan.Options{GPUs: d.Open(numbers()...), Exchange: group[i], Node: fmt.Sprint("n", i), Replicas: 1,
			TileBytes: 1024, Unproven: true, Net: []string{"ucx", "ucx:"}[i]} // two names, so two proxies
		if list[i], err = newRig(t.Context(), d, p, opt); err != nil {
			return err
		}
		if jobs[i], err = list[i].bind(t.Context(), data.I32, data.Sum, 2, nil); err != nil {
			return err
		}
		return jobs[i].fill()
	}); err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		graphs[i] = j.captured(t, launches)
	}
	if at := list[0].plan.Network(); !strings.Contains(at, "tcp/") {
		t.Errorf("UCX took %s", at)
	}
	var times []time.Duration
	for range d.times(2, 40) {
		begun := time.Now()
		if err := all(list, func(i int) error {
			return errors.Join(jobs[i].replay(graphs[i]), list[i].plan.Wait(soon(t)))
		}); err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Since(begun)/launches)
	}
	if err := all(list, func(i int) error {
		return errors.Join(jobs[i].compare(), jobs[i].close(), list[i].Close())
	}); err != nil {
		t.Error(err)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// childNet measures the network of a job alone.
func childNet(ctx context.Context, _ Device, r role) error {
	x, err := exchange.Join(ctx, exchange.At(r.Address), r.Index, r.Size)
	if err != nil {
		return err
	}
	is, err := measure.Run(ctx, x, []int{0, 1}, time.Minute)
	if err != nil {
		return err
	}
	fmt.Printf("two proxies without kernels take %.1f us, by %s\n", is.Latency, is.Engine)
	return x.Close()
}

// testPCI: each GPU says its own PCI address, by which a device of a net plugin is chosen.
func testPCI(t *testing.T, d Device) {
	gpus, err := d.Open().GPUs()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i, g := range gpus {
		address := g.(interface{ PCI() string }).PCI()
		if !regexp.MustCompile(`^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.0$`).MatchString(address) {
			t.Errorf("GPU %d is at %q", i, address)
		}
		if other, twice := seen[address]; twice {
			t.Errorf("GPUs %d and %d are both at %s", other, i, address)
		}
		seen[address] = i
		if want := fmt.Sprintf("0000:%02x:1f.0", 0xa0+i); d.StandIn() && address != want {
			t.Errorf("GPU %d is at %s instead of %s", i, address, want)
		}
	}
}

package gputest

import (
	"errors"
	"os"
	"slices"
	"testing"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir"
)

// tests are those of GPUs.
var tests = []struct {
	name string
	run  func(*testing.T, Device)
}{
	{"PCI", testPCI}, {"Plans", testPlans}, {"Types", testTypes}, {"Numerics", testNumerics}, {"Few", testFew}, {"Unaligned", testUnaligned}, {"Random", testRandom}, {"Order", testOrder}, {"ManyRanks", testManyRanks}, {"Loaded", testLoaded},
	{"Graphs", testGraphs}, {"ManyReplays", testManyReplays}, {"Scratch", testScratch}, {"Streams", testStreams}, {"TwoPlans", testTwoPlans}, {"Memory", testMemory},
	{"Hurdles", testHurdles}, {"LateRank", testLateRank}, {"CutShort", testCutShort}, {"WaitInGraph", testWaitInGraph},
	{"Oversubscribed", testOversubscribed}, {"OversubscribedGraphs", testOversubscribedGraphs}, {"WrongOrder", testWrongOrder}, {"FullQueue", testFullQueue},
	{"Processes", testProcesses}, {"ProcessesDiffer", testProcessesDiffer}, {"Lines", testLines}, {"Hosted", testHosted}, {"ProcessLate", testProcessLate}, {"ProcessDies", testProcessDies},
	{"Mapped", testMapped}, {"ProcessesMapped", testProcessesMapped}, {"EachCallFails", testEachCallFails}, {"Fault", testFault},
	{"Timeout", testTimeout}, {"Cancel", testCancel}, {"TooLarge", testTooLarge}, {"Trace", testTrace}, {"TraceTwo", testTraceTwo}, {"Lanes", testLanes}, {"LanesMemory", testLanesMemory}, {"Switch", testSwitch},
	{"Port", testPort}, {"PortGraphs", testPortGraphs}, {"PortLate", testPortLate}, {"PortTrace", testPortTrace}, {"PortPlans", testPortPlans}, {"PortProcesses", testPortProcesses}, {"PortFails", testPortFails}, {"PortStuck", testPortStuck},
	{"Nodes", testNodes}, {"NodesGraphs", testNodesGraphs}, {"NodesTogether", testNodesTogether}, {"NodesReset", testNodesReset}, {"NodesTrace", testNodesTrace}, {"NodesProcesses", testNodesProcesses}, {"NodesHop", testNodesHop},
	{"OnePass", testOnePass}, {"Written", testWritten}, {"Launches", testLaunches}, {"OnePassLate", testOnePassLate}, {"IdleRank", testIdleRank}, {"Room", testRoom},
	{"Rows", testRows}, {"RowsRefused", testRowsRefused}, {"RowsProcesses", testRowsProcesses}, {"RowsLate", testRowsLate},
	{"Catalog", testCatalog}, {"TwoSidedTypes", testTwoSidedTypes}, {"Sizes", testSizes}, {"Repeated", testRepeated},
}

// Run runs all tests of a device.
func Run(t *testing.T, d Device) {
	d.need(t)
	for i, test := range tests {
		if d.smoke() && !slices.Contains(ofDrivers, test.name) && i%8 > 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) { test.run(t, d) })
	}
}

// ofDrivers are the tests of what drivers differ in: their functions, their processes, and their errors.
var ofDrivers = []string{"Graphs", "Streams", "Memory", "Processes", "ProcessDies", "Mapped", "ProcessesMapped",
	"EachCallFails", "Fault", "Timeout", "Trace", "TraceTwo", "Lanes", "LanesMemory", "Port", "PortProcesses", "PortFails", "Room", "Types", "Numerics",
	"NodesGraphs", "NodesProcesses", "PCI"}

// smoke reports whether only these tests run, and one in eight of the others.
func (d Device) smoke() bool { return d.period() > 4 }

// times returns how much is done of something: less on the mock driver.
func (d Device) times(standIn, gpu int) int {
	if d.StandIn() {
		return standIn
	}
	return gpu
}

// need skips a test where there is no GPU, unless MSCCLC_REQUIRE says that there
// is one.
func (d Device) need(t testing.TB) {
	t.Helper()
	_, err := d.Open().GPUs()
	if err == nil {
		return
	}
	if d.StandIn() || !errors.Is(err, executor.ErrNoDevice) || Required(d.Name) {
		t.Fatal(err)
	}
	t.Skip(err)
}

// testPlans runs programs of both kinds with every protocol, in place and out of place, at
// odd sizes, in replicas that are many and uneven.
func testPlans(t *testing.T, d Device) {
	var list []shape
	large := map[int]int{} // replicas of a large call, of some of the list
	for n, name := range []string{"allreduce/allpairs", "allreduce/allpairs_onestep", "allreduce/ring",
		"allgather/allpairs", "reducescatter/allpairs", "alltoall/one_step"} {
		for i, ranks := range []int{2, 3, 4, 8} {
			for proto := range ir.NumProtocols {
				inplace := (i+int(proto))%2 == 0 && name != "alltoall/one_step"
				if d.StandIn() && (i+int(proto))%2 == 1 {
					continue
				}
				for _, s := range both(ranked(name, ranks, proto, inplace)) {
					if i == (int(proto)+n)%4 { // each program with each protocol, and all with all ranks
						large[len(list)] = []int{0, 1, 3}[(i+n)%3]
					}
					list = append(list, s)
				}
			}
		}
	}
	programs := mustPrograms(t, list)
	for i, s := range list {
		if !d.takes(i) {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			r := mustRig(t, d, programs[i], plan.Options{GPUs: d.Open(numbers()...)})
			for k, elems := range []int64{0, 1, 5, 1000, 10007} {
				for _, replicas := range []int{0, 1, 3} {
					r.mustRun(t, s, elems, replicas, int64(k*replicas)*512)
				}
			}
			if replicas, ok := large[i]; ok && !d.StandIn() {
				r.mustRun(t, s, 1000003, replicas, int64(replicas)*2048)
			}
		})
	}
}

// mustRun runs a call of a shape's program.
func (r *rig) mustRun(t *testing.T, s shape, elems int64, replicas int, tile int64) {
	t.Helper()
	if r.plan.Even() {
		elems *= int64(r.plan.Program().Coll.Chunks)
	}
	if err := r.once(soon(t), data.I32, data.Sum, elems, func(a *plan.CallArgs) {
		s.replicas(replicas)(a)
		a.TileBytes = tile
	}); err != nil {
		t.Fatal(err)
	}
}

// testUnaligned moves several chunks at once, of which the first lies as 16 bytes are loaded, and the second does not.
func testUnaligned(t *testing.T, d Device) {
	turn := 0
	for _, name := range []string{"allgather/bruck", "allgather/recursive_doubling", "reducescatter/recursive_halving",
		"allreduce/recursive_halving_doubling", "allreduce/allpairs"} {
		for _, proto := range []ir.Protocol{ir.Simple, ir.LL, ir.LL128} {
			if turn++; !d.takes(turn - 1) {
				continue
			}
			s := ranked(name, 4, proto, false)
			p := mustProgram(t, s)
			r := mustRig(t, d, p, plan.Options{GPUs: d.Open(numbers()...)})
			for _, elems := range []int64{2, 6, 250, 6250} { // of a chunk: 8 bytes more than a multiple of 16
				if err := r.once(soon(t), data.I32, data.Sum, elems*int64(p.Coll.Chunks), nil); err != nil {
					t.Errorf("%v, %d elements: %v", s, elems, err)
				}
			}
		}
	}
}

// testTypes runs every type with every reduction.
func testTypes(t *testing.T, d Device) {
	for _, s := range both(ranked("allreduce/allpairs", 4, ir.LL, false),
		ranked("allreduce/allpairs", 4, ir.Simple, false)) {
		r := mustRig(t, d, mustProgram(t, s), plan.Options{GPUs: d.Open(numbers()...)})
		for dt := range data.NumDTypes {
			for op := range data.NumRedOps {
				if !d.takes(int(dt)*int(data.NumRedOps) + int(op)) {
					continue
				}
				if err := r.once(soon(t), dt, op, 4001, nil); err != nil {
					t.Errorf("%v: %v %v: %v", s, dt, op, err)
				}
			}
		}
	}
}

// numericShapes are programs that add inputs in different ways: at once, and along a ring or a tree that forwards
// partial sums; from the input, from scratch, from packets, and from the output of a call in place.
func numericShapes() []shape {
	return append(both(
		ranked("allreduce/ring", 3, ir.LL, false), ranked("allreduce/ring", 5, ir.Simple, true),
		ranked("allreduce/allpairs", 3, ir.Simple, true), ranked("allreduce/allpairs", 7, ir.LL, false),
		ranked("allreduce/recursive_doubling", 4, ir.Simple, false), ranked("allreduce/double_binary_tree", 6, ir.LL, true),
		ranked("allreduce/allpairs_onestep", 3, ir.LL128, false), ranked("reducescatter/ring", 3, ir.Simple, false),
		ranked("reduce/chain", 4, ir.LL, false)), ranked("allreduce/switch", 3, ir.Simple, false))
}

// testNumerics runs every type with every reduction on numbers from the edges of the type: no average of finite numbers
// may be infinite, and a number wins over NaN. A switch's operands are read rank by rank.
func testNumerics(t *testing.T, d Device) {
	list := numericShapes()
	for i, p := range mustPrograms(t, list) {
		t.Run(list[i].String(), func(t *testing.T) {
			r := mustRig(t, d, p, plan.Options{GPUs: d.Open(numbers()...)})
			r.edges = true
			for dt := range data.NumDTypes {
				for op := range data.NumRedOps {
					if !d.takes(int(dt)*int(data.NumRedOps) + int(op) + i) {
						continue
					}
					for _, elems := range []int64{1003, 96 * 64} { // element by element, and aligned
						if err := r.once(soon(t), dt, op, elems*int64(p.Coll.Chunks), nil); err != nil {
							t.Errorf("%v %v: %v", dt, op, err)
						}
					}
				}
			}
		})
	}
}

// testManyRanks runs more ranks than a launch has rows for, and tables that a launch has no
// room for.
func testManyRanks(t *testing.T, d Device) {
	for _, s := range both(ranked("allgather/allpairs", 20, ir.LL, false), ranked("allreduce/ring", 20, ir.LL, false)) {
		opt := plan.Options{GPUs: d.Open(numbers()...)}
		if !s.two {
			opt.Replicas = 2
		}
		r := mustRig(t, d, mustProgram(t, s), opt)
		for _, elems := range []int64{7, 3000} {
			if err := r.once(soon(t), data.BF16, data.Max, elems, nil); err != nil {
				t.Error(err)
			}
		}
	}
}

// testLoaded runs one-sided programs as Load has them, which waits and copies.
func testLoaded(t *testing.T, d Device) {
	for _, proto := range []ir.Protocol{ir.Simple, ir.LL128} {
		p := mustProgram(t, ranked("allreduce/allpairs", 3, proto, proto == ir.LL128))
		l := d.load(t, p)
		for _, elems := range []int64{0, 3, 5000} {
			if err := check(l, p.Coll, data.F32, data.Avg, elems, nil); err != nil {
				t.Error(err)
			}
		}
	}
}

// ofHosts are the tests of what any device of plans must do, GPUs or not.
var ofHosts = []string{"Plans", "Types", "Numerics", "Unaligned", "Random", "Order", "ManyRanks", "Loaded", "Graphs",
	"ManyReplays", "Scratch", "Streams", "TwoPlans", "WrongOrder", "LateRank", "CutShort", "WaitInGraph", "Processes",
	"ProcessLate", "ProcessDies", "Timeout", "Cancel", "Trace", "TraceTwo", "Port", "PortGraphs", "OnePass", "IdleRank",
	"Sizes", "Repeated"}

// hosted reports whether what is tested is the host.
func (d Device) hosted() bool { return d.Name == "cpu" }

// MainHost is Main of a device that has no driver.
func MainHost(m *testing.M, d Device) {
	os.Setenv(d.Variable, "host")
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(child(d, role))
	}
	os.Exit(m.Run())
}

// RunHost runs the tests that are not of drivers.
func RunHost(t *testing.T, d Device) {
	for _, test := range tests {
		if slices.Contains(ofHosts, test.name) {
			t.Run(test.name, func(t *testing.T) { test.run(t, d) })
		}
	}
}

package simulate_test

import (
	"fmt"

	"mscclc/ir"
	"mscclc/simulate"
)

const k, m, g = 1 << 10, 1 << 20, 1 << 30

// comparisons are those of MSCCLang's paper (ASPLOS 2023), which are two-sided, of MSCCL++'s and of Swing's.
var comparisons = []comparison{{
	title: "All-pairs AllReduce against NCCL's ring, 8 A100s", source: "MSCCLang", topology: "ndv4", ranks: 8,
	ours:     []form{{file: "allreduce/allpairs", params: "ranks=8", protocols: all, instances: []int{1, 2, 4, 8}}},
	base:     []form{{file: "allreduce/ring", params: "ranks=8", protocols: all, nccl: 24}},
	baseline: "a ring with as many channels as NCCL 2.8 takes for the size",
	figure:   simulate.Interval,
	from:     k, to: 16 * m, published: "up to 1.9, 32 KB to 3 MB",
	why: `Small calls gain more here than is published: a call of NCCL's is measured with what its library does before the launch, which is no part of either side here. Above 1 MB
all pairs lose here, and in the paper not before 3 MB: the baseline here is the best of three protocols for each size, which NCCL 2.8 chooses by a model of them.`,
}, {
	title: "All-pairs AllReduce against NCCL's ring, 16 V100s", source: "MSCCLang", topology: "dgx2", ranks: 16,
	ours:     []form{{file: "allreduce/allpairs", params: "ranks=16", protocols: all, instances: []int{1, 2, 4}}},
	base:     []form{{file: "allreduce/ring", params: "ranks=16", protocols: all, nccl: 12}},
	baseline: "a ring with as many channels as NCCL 2.8 takes for the size",
	figure:   simulate.Interval,
	from:     k, to: 16 * m, published: "up to 3.0",
	why: `As on 8 A100s: small calls gain more here than is published. What a step costs, of which the ring has 30 one after the other, is an estimate for V100s.`,
}, {
	title: "AllToNext against a send to the next, 3 nodes of 8 A100s", source: "MSCCLang",
	topology: "ndv4:nodes=3", ranks: 24,
	ours:     []form{{file: "alltonext/forward", params: "nodes=3,gpus=8", protocols: all, instances: []int{1, 4, 16}}},
	base:     []form{sendNext(8)},
	baseline: "a send and a receive, of one block each",
	figure:   simulate.Interval,
	from:     16 * k, to: 256 * m, published: "up to 14.5",
	vary: []variation{{"against three messages of 128 KB in flight in place of eight", []form{sendNext(3)}},
		{"against two", []form{sendNext(2)}}},
	why: `Eight NICs against one are worth 8 and the block's own rate a little more: the simulated send keeps its NIC busy two thirds of the time. What is published says that the
paper's moved about half of what a NIC does. The simulator says that of a send with two or three messages in flight, so that this and no property of the algorithm is the difference.`,
}, {
	title: "Hierarchical AllReduce against a flat ring, 2 nodes of 8 A100s", source: "MSCCLang",
	topology: "ndv4:nodes=2", ranks: 16,
	ours:     []form{hierarchical("nodes=2,gpus=8")},
	base:     []form{{file: "testdata/rings", params: "nodes=2,gpus=8", protocols: all, instances: []int{1, 2}}},
	baseline: "eight rings through all ranks, each through other NICs, as NCCL lays them, in up to 16 channels",
	figure:   simulate.Interval,
	from:     64 * k, to: 1 * g, published: "faster, without a figure",
	why: hierarchicalWhy,
}, {
	title: "Hierarchical AllReduce against a flat ring, 4 nodes of 8 A100s", source: "MSCCLang",
	topology: "ndv4:nodes=4", ranks: 32,
	ours:     []form{hierarchical("nodes=4,gpus=8")},
	base:     []form{{file: "testdata/rings", params: "nodes=4,gpus=8", protocols: all, instances: []int{1, 2}}},
	baseline: "eight rings through all ranks, each through other NICs, as NCCL lays them, in up to 16 channels",
	figure:   simulate.Interval,
	from:     64 * k, to: 1 * g, published: "faster, without a figure", long: true,
	why: hierarchicalWhy,
}, {
	title: "2PH AllReduce against a flat ring, 2 nodes of 8 A100s", source: "MSCCL++", topology: "ndv4:nodes=2", ranks: 16,
	ours:     twoPH("nodes=2,gpus=8"),
	base:     []form{{file: "testdata/rings", params: "nodes=2,gpus=8", protocols: all, instances: []int{1, 2}}},
	baseline: "eight rings through all ranks, each through other NICs, as NCCL lays them, in up to 16 channels",
	figure:   simulate.Interval,
	from:     k, to: 1 * g, published: "up to 5.4 over all collectives and machines",
	vary: []variation{{"against the faster of these and a double binary tree",
		[]form{ringsOrTree("nodes=2,gpus=8", "ranks=16")}}},
	why: twoPHWhy,
}, {
	title: "2PH AllReduce against a flat ring, 4 nodes of 8 A100s", source: "MSCCL++", topology: "ndv4:nodes=4", ranks: 32,
	ours:     twoPH("nodes=4,gpus=8"),
	base:     []form{{file: "testdata/rings", params: "nodes=4,gpus=8", protocols: all, instances: []int{1, 2}}},
	baseline: "eight rings through all ranks, each through other NICs, as NCCL lays them, in up to 16 channels",
	figure:   simulate.Interval,
	from:     k, to: 1 * g, published: "up to 5.4 over all collectives and machines", long: true,
	vary: []variation{{"against the faster of these and a double binary tree",
		[]form{ringsOrTree("nodes=4,gpus=8", "ranks=32")}}},
	why: twoPHWhy,
}, {
	title: "Two-step AllToAll against one step, 256 A100s", source: "MSCCLang", topology: "ndv4:nodes=32", ranks: 256,
	ours: []form{{file: "alltoall/two_step", params: "nodes=32,gpus=8", protocols: []ir.Protocol{ir.Simple},
		instances: []int{1, 2}}},
	base: []form{{file: "testdata/one_step", params: "ranks=256", protocols: []ir.Protocol{ir.Simple},
		instances: []int{1}, p2p: 8}},
	baseline: "a send to each rank and a receive from each, as NCCL does it",
	figure:   simulate.Interval,
	from:     8 * m, to: 2 * g, published: "up to 1.3 above 512 MB", long: true,
	why: oneStepWhy,
}, {
	title: "Two-step AllToAll against two kernels, 256 A100s", source: "MSCCLang", topology: "ndv4:nodes=32", ranks: 256,
	ours: []form{{file: "alltoall/two_step", params: "nodes=32,gpus=8", protocols: []ir.Protocol{ir.Simple},
		instances: []int{1, 2}}},
	base: []form{{file: "testdata/gather_step", params: "nodes=32,gpus=8", protocols: []ir.Protocol{ir.Simple},
		instances: []int{1, 2}}, {file: "testdata/network_step", params: "nodes=32,gpus=8",
		protocols: []ir.Protocol{ir.Simple}, instances: []int{1, 2}}},
	baseline: "its two steps as two launches, as it was written by hand in CUDA",
	from:     8 * m, to: 2 * g, published: "up to 1.2 above 512 MB", long: true,
	why: `Two launches add the first step's time to the network's, a tenth of it here, and one has it go on beside the network. Small calls gain more, by the launch that they save. What is
published says a fifth for large ones, which a first kernel of half the rate would take.`,
}, swing(4, false), swing(8, true)}

const hierarchicalWhy = `Small calls gain by fewer rounds, large ones by less traffic through NICs, of which a flat ring has almost twice as much on two nodes and a third more on four. In the middle a
call has too few tiles for its four phases to overlap, so that it takes NVLink's time and the NICs', and the flat ring the NICs' alone.`

const oneStepWhy = `The simulator does not give what the paper measures: both keep the NICs busy all the time, two steps because their first goes on beside the network, and nothing in
the model costs more for 255 peers of 2 MB than for 31 of 16 MB. A NIC that has state for 255 connections and a switch where many messages meet for one port are not modelled;
they are what two steps are for.`

const twoPHWhy = `The figure that is published is the best of all collectives, machines and sizes. Small calls gain more
against the flat ring the more nodes there are, but NCCL runs a tree for these: see its row. Large calls gain by lanes:
one sends over the network while others move data by NVLink, as thread blocks of the paper's kernel do. In one lane they
took up to 2.8 times as long as the ring on two nodes, and 3.7 times on four.`

// swing compares Swing with the other algorithms for a torus of a given number of rows and columns.
func swing(side int, long bool) comparison {
	ranks := fmt.Sprintf("ranks=%d", side*side)
	rows := fmt.Sprintf("%s,rows=%d", ranks, side)
	few := form{file: "testdata/swing_latency", params: rows, protocols: all, instances: []int{1}}
	doubling := form{file: "allreduce/recursive_doubling", params: ranks, protocols: all, instances: []int{1}}
	halving := form{file: "allreduce/recursive_halving_doubling", params: ranks, protocols: all, instances: []int{1, 4},
		or: &doubling}
	return comparison{
		title:  fmt.Sprintf("Swing AllReduce against the fastest of others on tori, %d x %d GPUs", side, side),
		source: "Swing", topology: fmt.Sprintf("testdata/torus.topo:rows=%d,columns=%d", side, side), ranks: side * side,
		ours: []form{{file: "allreduce/swing", params: rows, protocols: all, instances: []int{1, 4}, or: &few}},
		base: []form{{file: "allreduce/bucket", params: rows, protocols: all, instances: []int{1, 4},
			or: &halving}},
		baseline: "the fastest of the bucket algorithm, recursive halving and doubling, and recursive doubling",
		figure:   simulate.Interval,
		from:     k, to: 64 * m, published: "up to 3.0, 32 B to 128 MB", long: long,
		why: swingWhy,
	}
}

const swingWhy = `Swing gains where the length of ways counts: on small calls, and more on the larger torus. Large calls lose on 8 x 8 GPUs: what a rank sends in a round does not lie side
by side, so each chunk is a message with a step of its own, of which the bucket algorithm has fewer. The paper's tori are larger, and its messages are whole rounds.`

// hierarchical returns the faster of its two forms, each in up to as many of the 32 channels that MSCCL has as are of
// use.
func hierarchical(params string) form {
	shared := form{file: "allreduce/hierarchical", params: params + ",back=0", protocols: all, instances: []int{1, 4, 24}}
	return form{file: "allreduce/hierarchical", params: params, protocols: all, instances: []int{1, 4, 16}, or: &shared}
}

// ringsOrTree is NCCL's choice of two algorithms.
func ringsOrTree(rings, tree string) form {
	other := form{file: "allreduce/double_binary_tree", params: tree, protocols: all, instances: []int{1, 2}}
	return form{file: "testdata/rings", params: rings, protocols: all, instances: []int{1, 2}, or: &other}
}

// sendNext returns a send to the next rank with a given number of messages in flight, in Simple, as NCCL's are.
func sendNext(flying int) form {
	return form{file: "testdata/send_next", params: "nodes=3,gpus=8", protocols: []ir.Protocol{ir.Simple},
		instances: []int{1}, p2p: flying}
}

// twoPH returns the fastest of 2PH's two versions: in packets, or in lanes.
func twoPH(params string) []form {
	small := form{file: "allreduce/twophase_hierarchical_ll", params: params, onesided: true,
		protocols: []ir.Protocol{ir.LL, ir.LL128}, instances: []int{1}}
	laned := func(file string, or form) form {
		return form{file: file, params: params, onesided: true, protocols: []ir.Protocol{ir.Simple}, instances: []int{1},
			lanes: []int{4, 8, 16}, copies: []int{0, 4}, or: &or}
	}
	return []form{laned("allreduce/twophase_hierarchical", laned(small.file, small))}
}

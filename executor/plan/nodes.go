package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/exchange"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// This file is on which nodes the ranks of a plan are. Ranks are of one node if they can map each other's memory.

// NodeVariable names the environment variable that says of which node a process is, by any text. Without it, the device
// says it.
const NodeVariable = "MSCCLC_NODE"

// nodeOf returns what this process says of its node.
func nodeOf(opt *Options) string {
	if own := cmp.Or(opt.Node, os.Getenv(NodeVariable)); own != "" {
		return own
	}
	if own, ok := opt.GPUs.(interface{ Node() string }); ok {
		return own.Node()
	}
	return ""
}

// NodesOf says on which node each process of an exchange is, by number, as Prepare finds out: nodes count from 0, in
// the order of their first processes. All processes call it.
func NodesOf(ctx context.Context, x *exchange.Member, gpus executor.GPUs) ([]int, error) {
	all, err := exchange.Agree(ctx, x, []byte(nodeOf(&Options{GPUs: gpus})), nil) // which need not be UTF-8
	if err != nil {
		return nil, err
	}
	var names []string
	node := make([]int, len(all))
	for i, name := range all {
		if node[i] = slices.Index(names, string(name)); node[i] < 0 {
			node[i] = len(names)
			names = append(names, string(name))
		}
	}
	return node, nil
}

// DescribeRanks has errors of an exchange say which ranks a lost process has, before there is a plan.
func DescribeRanks(x *exchange.Member, ranks int) {
	n := nodes{process: make([]int, ranks), of: make([]int, ranks), names: make([]string, 1)}
	for r := range n.process {
		n.process[r] = x.Driver(r)
	}
	x.Describe(n.where)
}

// nodes say where the ranks of a plan are. Processes count as in the exchange; nodes count from 0, in the order of
// their first processes.
type nodes struct {
	process []int    // of each rank
	of      []int    // node of each rank
	names   []string // of nodes
}

// newNodes has the ranks and the node of each process.
func newNodes(ranks int, all []greeting) nodes {
	n := nodes{process: make([]int, ranks), of: make([]int, ranks)}
	for i := range all {
		at := slices.Index(n.names, string(all[i].Node))
		if at < 0 {
			at = len(n.names)
			n.names = append(n.names, string(all[i].Node))
		}
		for _, r := range all[i].Ranks {
			n.process[r], n.of[r] = i, at
		}
	}
	return n
}

// several reports whether there is more than one node.
func (n *nodes) several() bool { return len(n.names) > 1 }

// where says, in brackets, which ranks a process has, and where there are several nodes, its node.
func (n *nodes) where(process int) string {
	var ranks []string
	node := -1
	for r, p := range n.process {
		if p == process {
			ranks, node = append(ranks, fmt.Sprint(r)), n.of[r]
		}
	}
	if node < 0 {
		return ""
	}
	word := "ranks"
	if len(ranks) == 1 {
		word = "rank"
	}
	const most = 8
	if len(ranks) > most {
		ranks = append(ranks[:most], "...")
	}
	at := ""
	if n.several() {
		at = ", node " + n.names[node]
	}
	return fmt.Sprintf(" (%s %s%s)", word, strings.Join(ranks, ", "), at)
}

// netTable returns what the program sends between nodes, or why it cannot run there.
func (p *oneSided) netTable(node []int) (abi.NetTable, error) { return p.checked.Image.Net(node) }

func (p *twoSided) netTable([]int) (abi.NetTable, error) {
	return abi.NetTable{}, diag.List{diag.New(diag.AcrossNodes, diag.Span{},
		"a two-sided program runs within one node, and the ranks are of several").
		WithHint("lower it to a one-sided one, which reaches other nodes: --sided lowered, or --sided one --nodes N")}
}

// lie says on which nodes the ranks are.
func (n *nodes) lie() string {
	const most = 8
	var parts []string
	for i, name := range n.names {
		var ranks []string
		for r, of := range n.of {
			if of == i {
				ranks = append(ranks, fmt.Sprint(r))
			}
		}
		if len(ranks) > most {
			ranks = append(ranks[:most], "...")
		}
		parts = append(parts, fmt.Sprintf("%s on node %s", strings.Join(ranks, ", "), name))
	}
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("%d more nodes", len(parts)-most))
	}
	return "ranks " + strings.Join(parts, "; ")
}

// plot is plotNet, where ranks are of several nodes. An error says how they lie.
func (p *Plan) plot(opt *Options) error {
	if !p.nodes.several() {
		return nil
	}
	if len(p.program().Then) > 0 {
		return fmt.Errorf("a program with an epilogue on several nodes: %w", executor.ErrNotSupported)
	}
	err := p.plotNet(opt)
	var list diag.List
	if errors.As(err, &list) {
		list = slices.Clone(list)
		list[0] = list[0].WithNote(diag.Span{}, "the processes have %s", p.nodes.lie())
		if list[0].Hint == abi.HintNodes {
			list[0] = list[0].WithHint("%s; --nodes is for blocks of ranks, so a node's processes must follow each other; or "+
				"name the collective alone: its programs are compiled for the ranks as they lie", abi.HintNodes)
		}
		return list
	}
	return err
}

// plotNet sees to what a plan of several nodes sends, and that its ranks wait for what is sent.
func (p *Plan) plotNet(opt *Options) error {
	table, err := p.kind.netTable(p.nodes.of)
	if err != nil {
		return err
	}
	if !opt.Unproven {
		node := make([]int32, len(p.nodes.of))
		for r, n := range p.nodes.of {
			node[r] = int32(n)
		}
		if err := verify.AcrossNodes(p.program(), node).Err(); err != nil {
			return err
		}
	}
	p.net = &network{engine: opt.Net, connect: opt.Connect, table: table,
		inboxes: map[int]uint64{}, mirrors: map[int]uint64{}}
	return nil
}

package cli

import (
	"errors"
	"fmt"
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/ir/diag"
)

// Nodes is the flag --nodes: a number of nodes that have equally many ranks, or the ranks of each node, with commas.
// "" is one node.
type Nodes string

// sizes reads the flag: one number, or the ranks of each node.
func (n Nodes) sizes() ([]int, error) {
	list, ok := choose.NodeSizes(string(n))
	if !ok {
		return nil, Usagef("--nodes takes a number of nodes, or the ranks of each as in 4,4; not %q", string(n))
	}
	return list, nil
}

// Count returns how many nodes the flag says, at least 1. One node is as no flag.
func (n *Nodes) Count() (int, error) {
	if *n == "" || *n == "1" {
		*n = ""
		return 1, nil
	}
	sizes, err := n.sizes()
	switch {
	case err != nil:
		return 0, err
	case len(sizes) == 1:
		return sizes[0], nil
	}
	return len(sizes), nil
}

// Several reports whether the flag names several nodes. A wrong flag does not; Check finds what is wrong.
func (n Nodes) Several() bool {
	nodes, err := n.Count()
	return err == nil && nodes > 1
}

// Check refuses a flag that fits no number of ranks.
func (n Nodes) Check() error {
	if n == "" {
		return nil
	}
	_, err := n.sizes()
	return err
}

// Of returns the node of each of some ranks, from 0, or nil for one node. The first ranks are of the first node. The
// error is a diag.List where the flag does not fit a given number of ranks.
func (n Nodes) Of(ranks int) ([]int32, error) {
	if n == "" {
		return nil, nil
	}
	sizes, err := n.sizes()
	if err != nil {
		return nil, err
	}
	node, ok := choose.NodesBySize(sizes, ranks)
	switch {
	case ok:
		return node, nil
	case len(sizes) == 1:
		d := diag.New(diag.Parameter, diag.Span{}, "%d nodes cannot have equally many of %d ranks", sizes[0], ranks)
		return nil, diag.List{d.WithHint("give a number that divides %d", ranks)}
	}
	return nil, n.unfit(ranks, "--nodes %s does not have the %d ranks of the program", string(n), ranks)
}

func (n Nodes) unfit(ranks int, format string, args ...any) error {
	return diag.List{diag.New(diag.Parameter, diag.Span{}, format, args...).
		WithHint("name the ranks of each node, as in --nodes %s", example(ranks))}
}

// Otherwise returns a hint if the ranks of processes are of other nodes than the flag says. node is the node of each
// rank, from 0, in the order of their first ranks. The hint is "" if there is no flag, if they agree, and on one node.
func (n Nodes) Otherwise(node []int) string {
	said, err := n.Of(len(node))
	lie := choose.NodesText(node)
	agree := slices.EqualFunc(node, said, func(a int, b int32) bool { return a == int(b) })
	switch {
	case n == "" || err != nil || agree || lie == "":
		return ""
	case slices.IsSorted(node): // in blocks
		return fmt.Sprintf("--nodes %s was given, but the nodes of the processes have %s ranks: give --nodes %s", n, lie, lie)
	}
	return fmt.Sprintf("--nodes %s is for blocks of ranks, and the ranks lie otherwise: start a process for each rank, those "+
		"of a node one after another; or name the collective alone: its programs are compiled for the ranks as they lie", n)
}

// Hinted returns err with the hint of Otherwise if it says that a program does not run on the nodes of the processes.
// node returns the node of each rank.
func (n Nodes) Hinted(err error, node func() []int) error {
	var list diag.List
	if !errors.As(err, &list) || list[0].Code != diag.AcrossNodes {
		return err
	}
	hint := n.Otherwise(node())
	if hint == "" {
		return err
	}
	list = slices.Clone(list)
	list[0] = list[0].WithHint("%s", hint)
	return list
}

// example is two nodes of some ranks.
func example(ranks int) string { return fmt.Sprintf("%d,%d", (ranks+1)/2, ranks/2) }

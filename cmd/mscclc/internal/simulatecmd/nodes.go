package simulatecmd

import (
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/simulate"
	"mscclc/topology"
)

// This file is what programs do between the nodes of the machine that they are simulated on.

// program returns the program of a file or an algorithm. It is compiled for the nodes that its ranks are on, or, if it
// is compiled already, runs on these.
func (f *Flags) program(a *cli.App, arg string, t *topology.Topology, size int64) (*ir.Program, error) {
	s, err := a.Open(arg, &f.Limits)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	request := &compiling.Request{Flags: f.Flags, Size: size}
	request.On = func(ranks, each int) []int32 {
		return domains(&ir.Program{Header: ir.Header{Coll: &ir.Collective{Ranks: ranks}, RanksPerNode: each}}, t, nil)
	}
	p, _, err := compiling.RunnableOf(a, s, request)
	if err == nil {
		p, err = f.Lower(p)
	}
	if err != nil {
		return nil, err
	}
	node, err := f.Nodes.Of(p.Coll.Ranks)
	if err != nil {
		return nil, err
	}
	switch node = domains(p, t, node); {
	case node == nil || p.OneSided == nil:
		return p, nil
	case request.Turns.Asked > 0: // of channels
		found := verify.Unported(p, node)
		for i := range found {
			found[i] = found[i].WithHint(portsHint)
		}
		return p, notFor(a, arg, t, node, found)
	case s.Kind == codegen.KindSource:
		return p, nil
	}
	return p, notFor(a, arg, t, node, verify.AcrossNodes(p, node))
}

// domains returns the part of t whose memory the GPU of each rank reaches (topology.Domains), numbered from 0 in the
// order of the ranks; or nil if all are of one part, or have no room on t. node is that of a simulate.Call.
func domains(p *ir.Program, t *topology.Topology, node []int32) []int32 {
	gpus, err := simulate.Seats(p, t, node)
	if err != nil {
		return nil // simulate.Run says so
	}
	of, number := t.Domains(), map[int32]int32{}
	list := make([]int32, len(gpus))
	for r, g := range gpus {
		n, ok := number[of[g]]
		if !ok {
			n = int32(len(number))
			number[of[g]] = n
		}
		list[r] = n
	}
	if len(number) < 2 {
		return nil
	}
	return list
}

// notFor returns an error with what was found of a program on nodes of t, or nil. A note says which nodes.
func notFor(a *cli.App, arg string, t *topology.Topology, node []int32, found diag.List) error {
	if len(found) > 0 && found[0].Code == diag.AcrossNodes {
		a.Note(arg, "its ranks are on %d nodes of %s, which share no memory (%s ranks)", slices.Max(node)+1, t.Name,
			choose.NodesText(node))
	}
	return cli.Placed(found, arg).Err()
}

// portsHint says what a program of channels does between nodes.
const portsHint = "between nodes a program of channels copies by port channels; an algorithm in chunks is compiled for the nodes"

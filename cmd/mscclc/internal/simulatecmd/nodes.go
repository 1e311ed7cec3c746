package simulatecmd

import (
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
	"mscclc/simulate"
	"mscclc/topology"
)

// This file is what programs do between the nodes of the machine that they are simulated on.

// program returns the program of a file or an algorithm. It is compiled for the nodes that its ranks are on, or, if it
// is compiled already, runs on these.
func (f *Flags) program(a *cli.App, arg string, t *topology.Topology, size int64) (*either.Program, error) {
	s, err := a.Open(arg, &f.Limits)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	request := &compiling.Request{Flags: f.Flags, Size: size}
	request.On = func(ranks, each int) []int32 {
		h := ir.Header{Coll: &ir.Collective{Ranks: ranks}, RanksPerNode: each}
		return simulate.DomainsOn(&h, t, nil)
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
	switch node = simulate.DomainsOn(&p.Header, t, node); {
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

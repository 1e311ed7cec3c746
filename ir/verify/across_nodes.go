package verify

import (
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/form"
	"mscclc/ir/verify/checker"
	"mscclc/ir/verify/onesided"
)

// AcrossNodes judges the part of a proof that depends on nodes, of a program that is proven without them: node has the
// node of each rank. An empty list means that p keeps to the rule, also where all ranks are of one node. Other problems
// of p may be listed too. p may be two-sided, and is then refused, unless there is one node.
func AcrossNodes(p *either.Program, node []int32) diag.List {
	c := &checker.Checker{P: p, Opt: checker.Options{Nodes: node}}
	c.Budgets()
	if c.List = form.Check(p, c.Bounds()); len(c.List) > 0 || !c.Across() || c.Opt.Nodes == nil {
		return checker.Decided(c.Done())
	}
	onesided.ProveNodes(c, p.OneSided)
	return checker.Decided(c.Done())
}

// Unported returns what of p, a one-sided program of channels, reaches memory of another node other than through a
// port: one error for each source position, with a note that counts the others there. node is as in Options.
func Unported(p *either.Program, node []int32) diag.List {
	c := &checker.Checker{P: p, Opt: checker.Options{Nodes: node}}
	var found diag.List
	for i := int32(0); int(i) < len(p.Steps) && len(found) < diag.MaxUnfolded; i++ {
		if why := c.Unported(i); why != "" {
			found = append(found, c.Problem(c.Place(i), diag.AcrossNodes, p.Steps[i].Pos, "%s %s", c.Name(i), why))
		}
	}
	return found.FoldRanks()
}

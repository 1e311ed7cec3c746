package compiling

import (
	"fmt"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/codegen/mscclpp/lower"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/text"
	"mscclc/passes/channels"
)

// ExecutionPlan makes the plan of MSCCL++ of p, which c compiled, and proves it. Unit is how many bytes a loop
// iteration of its pipelines moves, 0 for none.
func (c *Flags) ExecutionPlan(p *either.Program, unit int64) (*mscclpp.Plan, diag.List, error) {
	nodes, err := c.planNodes(&p.Header)
	if err != nil {
		return nil, nil, err
	}
	opt := mscclc.PlanOptions{Check: c.Limits.Check, Params: c.Settings(),
		Options: lower.Options{Instances: c.instances, Pipeline: unit, Nodes: nodes}}
	if c.Channels != nil {
		return mscclc.PlanOfChannels(c.Channels, opt)
	}
	return mscclc.PlanMSCCLPP(p, opt)
}

// planToRun returns what the plan of MSCCL++ of p means, as mscclc's executor runs it.
func (c *Flags) planToRun(p *either.Program) (*either.Program, error) {
	plan, _, err := c.ExecutionPlan(p, 0)
	if err != nil {
		return nil, err
	}
	return c.PlanMeaning(p, plan)
}

// PlanMeaning returns what the plan that p became means, as mscclc's executor runs it.
func (c *Flags) PlanMeaning(p *either.Program, plan *mscclpp.Plan) (*either.Program, error) {
	means, err := plan.Channels(c.Limits.Read)
	if err != nil {
		return nil, err
	}
	means.Name = p.Name // and not the plan's, by which MSCCL++ distinguishes plans
	g, err := channels.Unroll(means, 1)
	return either.OfOneSided(g), err
}

// planNodes returns the node of each rank that a plan is for: what --nodes says, or else the file.
func (c *Flags) planNodes(h *ir.Header) ([]int32, error) {
	opt := mscclc.Options{FileNodes: c.fileNodes}
	if c.Nodes != "" {
		opt.Nodes = c.Nodes.Of
	}
	return opt.PlanNodes(h)
}

// FileNodes has a plan be for the nodes that the file names, where no flag does, as compile makes it.
func (c *Flags) FileNodes() { c.fileNodes = true }

// PlanNote says for which nodes a plan is, where the file says so, and that all its ranks share memory where they are
// more than a host has. Of a file that is compiled already it says which ranks must share memory. "" is nothing to say.
func (c *Flags) PlanNote(s *cli.Source, p *either.Program, plan *mscclpp.Plan) string {
	nodes, err := c.planNodes(&p.Header)
	switch {
	case err != nil || c.Nodes != "":
		return ""
	case nodes != nil:
		return fmt.Sprintf("the plan is for nodes of %s, as the file says, and ports join them: give --nodes 1 if all ranks "+
			"share memory", diag.Counted(p.RanksPerNode, "rank"))
	case s.Kind != codegen.KindSource:
		if means, err := plan.Channels(c.Limits.Read); err == nil && mscclpp.GroupsText(means) != "" {
			return mscclpp.GroupsText(means) + "; --nodes N makes ports between nodes"
		}
	case p.Coll.Ranks > mscclpp.MostHostRanks:
		return fmt.Sprintf("the plan is for %d ranks that share memory, as in a rack of NVL72: for several hosts, compile an "+
			"algorithm with --nodes N", p.Coll.Ranks)
	}
	return ""
}

// planSummary is summary of the plan that p became, which has blocks and operations of its own.
func planSummary(p *either.Program, plan *mscclpp.Plan) string {
	name, blocks, ops := text.Title(p), 0, 0
	for r := range plan.GPUs {
		for _, b := range plan.GPUs[r].Blocks {
			blocks, ops = blocks+1, ops+len(b.Ops)
			for i := range b.Ops {
				if l := b.Ops[i].Loop; l != nil {
					ops += len(l.Ops)
				}
			}
		}
	}
	return fmt.Sprintf("%s, %s, %s, %s, %s", name, diag.Counted(p.Coll.Ranks, "rank"), diag.Counted(blocks, "block"),
		diag.Counted(ops, "operation"), text.Sizes(plan.Sizes()))
}

package choose

import (
	"fmt"
	"strings"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/codegen/mscclpp/lower"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/passes/channels"
	"mscclc/selection"
)

// This file is what a Selector does for MSCCL++: its programs are plans, in some numbers of instances.

// plans reports whether the target runs plans of MSCCL++.
func (s *Selector) plans() bool { return s.Target.Format == codegen.FormatMSCCLPP }

// ofPlan reports whether a form is an execution plan, which has the thread blocks that it names.
func (s *Selector) ofPlan(f Form) bool { return s.plans() || s.Own.plan(f.Program) != nil }

// planned reports whether a variant is one that plans are made of: one-sided, in a protocol of which the call says
// whether that is LL or LL16.
func planned(v selection.Choice) bool {
	return v.Sided == selection.OneSided && (v.Protocol == ir.Simple || v.Protocol == ir.LL)
}

// nodesOfPlan returns the node of each rank, in blocks, or nil for one node.
func (c Call) nodesOfPlan() []int32 {
	if c.Nodes < 2 || c.Ranks%c.Nodes != 0 {
		return nil
	}
	node := make([]int32, c.Ranks)
	for r := range node {
		node[r] = int32(r / (c.Ranks / c.Nodes))
	}
	return node
}

// planOf returns what the plan of f's program means, as a one-sided program, and into how many chunks the plan cuts a
// call's buffer. p is compiled for MSCCL++.
func (s *Selector) planOf(f Form, p *either.Program, unproven bool) (*either.Program, int, error) {
	plan, err := s.writtenPlan(f, p, unproven)
	if err != nil {
		return nil, 0, err
	}
	c, err := plan.Channels(codegen.ReadOptions{})
	if err != nil {
		return nil, 0, err
	}
	unrolled, err := channels.Unroll(c, 1)
	if err != nil {
		return nil, 0, err
	}
	unrolled.Sizes = plan.Sizes()
	return either.OfOneSided(unrolled), p.Coll.Divisor(), nil
}

// writtenPlan returns the plan of f's program, which is p.
func (s *Selector) writtenPlan(f Form, p *either.Program, unproven bool, params ...string) (*mscclpp.Plan, error) {
	plan, _, err := mscclc.PlanMSCCLPP(p, mscclc.PlanOptions{Unproven: unproven, Params: params,
		Options: lower.Options{Instances: f.Instances, Nodes: s.Call.nodesOfPlan()}})
	return plan, err
}

// Plan returns the execution plan of a form, of a Selector whose target is MSCCL++, for calls of some sizes. It is
// proven. params are words of its name, by which MSCCL++ distinguishes plans.
func (s *Selector) Plan(f Form, sizes ir.SizeRange, params ...string) (*mscclpp.Plan, error) {
	if o := s.Own.plan(f.Program); o != nil {
		return named(o.Plan, sizes, params)
	}
	f.Protocol = s.alike(f)
	p, err := s.compileText(f, true)
	if err != nil {
		return nil, err
	}
	p.Sizes = sizes
	return s.writtenPlan(f, p, false, params...)
}

// named returns a copy of a user's plan for calls of some sizes, as far as it is for them, with a name of its own.
func named(of *mscclpp.Plan, sizes ir.SizeRange, params []string) (*mscclpp.Plan, error) {
	plan := *of
	plan.MinBytes = max(plan.MinBytes, uint64(sizes.Min))
	if sizes.Max > 0 {
		plan.MaxBytes = min(plan.MaxBytes, uint64(sizes.Max-1))
	}
	plan.Name = ""
	hash, err := mscclpp.Hash(&plan)
	plan.Name = fmt.Sprintf("%.200s %016x", strings.Join(append([]string{of.Name}, params...), " "), hash)
	return &plan, err
}

// planTakes says why MSCCL++ does not run a form's plan for a call of a size, or nil: it moves whole chunks of
// multiples of 16 bytes, of the sizes that the plan is for.
func (s *Selector) planTakes(f Form, bytes int64) error {
	p, chunks, err := s.cutForm(f)
	switch {
	case err != nil:
		return err
	case p.Sizes.Max > 0 && bytes >= p.Sizes.Max || bytes < p.Sizes.Min:
		return fmt.Errorf("the plan is for calls from %d to below %d bytes", p.Sizes.Min, p.Sizes.Max)
	case bytes%int64(chunks*planAlign) != 0:
		return fmt.Errorf("%d chunks do not divide %d bytes in multiples of %d", chunks, bytes, planAlign)
	}
	return nil
}

// planAlign is the alignment of chunks in the plans that are written.
const planAlign = 16

package benchcmd

import (
	"errors"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/codegen"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// This file measures a collective by execution plans of MSCCL++: each size by the plan that the simulation says is the
// fastest, as mscclc select does.

// A planKey says which calls plans are chosen for.
type planKey struct {
	call choose.Call
	of   benchCase
}

// A planChoice chooses plans, and keeps the program that each means.
type planChoice struct {
	*choose.Selector
	programs map[choose.Form]*either.Program
}

// planForm returns what measures a size by a plan, or nil where no plan is for such calls.
func (w *benchWorld) planForm(bytes int64, inplace bool) (*bench.Form, error) {
	if w.on != "" {
		d := diag.New(diag.AcrossNodes, diag.Span{}, "mscclc's executor runs plans of MSCCL++ within a node")
		return nil, diag.List{d.WithHint("leave out --target mscclpp, or start all processes on one node")}
	}
	c, err := w.planChoice(w.call(inplace))
	if err != nil {
		return nil, err
	}
	list, err := c.Sizes([]int64{max(bytes, 1)})
	if errors.Is(err, choose.ErrNothing) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	form := list[0].Form
	p := c.programs[form]
	if p == nil {
		if p, err = c.Program(form); err != nil {
			return nil, err
		}
		c.programs[form] = p
	}
	return &bench.Form{Program: p, Name: form.String()}, nil
}

// planChoice returns what chooses plans for calls like call.
func (w *benchWorld) planChoice(call choose.Call) (*planChoice, error) {
	key := planKey{call, benchCase{w.dtype, w.redop, w.coll.Root}}
	if c := w.choices[key]; c != nil {
		return c, nil
	}
	target, err := codegen.TargetByName(w.Target)
	if err != nil {
		return nil, err
	}
	t, costs, err := choose.Machine(w.site.Name(), call.Ranks)
	if err != nil {
		return nil, err
	}
	c := &planChoice{&choose.Selector{Call: call, Own: w.own, Topology: t, Costs: costs, DType: w.dtype, Target: target,
		By: w.figure}, map[choose.Form]*either.Program{}}
	if w.choices == nil {
		w.choices = map[planKey]*planChoice{}
	}
	w.choices[key] = c
	return c, nil
}

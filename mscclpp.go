package mscclc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mscclc/codegen/mscclpp"
	"mscclc/codegen/mscclpp/lower"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
	"mscclc/passes/channels"
)

// PlanOptions say how PlanMSCCLPP writes a plan.
type PlanOptions struct {
	lower.Options
	Params   []string // name=value: what the algorithm was compiled with, for the plan's name
	Check    verify.Options
	Unproven bool // leave the proof of the plan to the caller
}

// PlanMSCCLPP makes a plan of MSCCL++ of p, which Compile made for target mscclpp, and proves what it means. Warnings
// are of what MSCCL++'s executor does wrong with it all the same. The plan's name, by which that executor distinguishes
// plans apart, is the algorithm's, its parameters and a hash of all that the plan holds.
func PlanMSCCLPP(p *either.Program, opt PlanOptions) (plan *mscclpp.Plan, warnings diag.List, err error) {
	c, err := lower.Channels(p.OneSided, opt.Options)
	if err != nil {
		return nil, nil, err
	}
	if plan, warnings, err = PlanOfChannels(c, opt); err == nil || opt.Meeting {
		return plan, warnings, err
	}
	opt.Meeting = true
	if c, err := lower.Channels(p.OneSided, opt.Options); err == nil {
		if plan, warnings, err := PlanOfChannels(c, opt); err == nil {
			return plan, warnings, nil
		}
	}
	return nil, nil, portsLate(p, opt.Nodes != nil, err)
}

// portsLate says of a plan that races, and has ports, that these are late: in p what goes through them is done when the
// rank goes on, in the plan only when who gets it has been signalled, so that others may not rely on it.
// Over nodes, ports are not the author's choice.
func portsLate(p *either.Program, nodes bool, err error) error {
	port := func(x onesided.Operand) bool { return x.Via == ir.ViaPort }
	if list, _ := err.(diag.List); len(list) > 0 && list[0].Code == diag.Race &&
		slices.ContainsFunc(p.OneSided.Operands, port) {
		d := list[0]
		d.Code, d.Text = diag.Unsupported,
			"ports of MSCCL++ may not be done when other ranks than those that they put to go on, and here "+d.Text
		instead := "leave out via = port"
		if nodes {
			instead = "compile it in the other protocol"
		}
		return diag.List{d.WithHint("%s, or have nobody else write what was put, or overwrite what is", instead)}
	}
	return err
}

// PlanOfChannels is PlanMSCCLPP of a program of channels, which an algorithm may be itself: with operations, scratch,
// threads, message sizes and names that the executor is right with (mscclpp.FitOperands, FitLaunch, NameLarger). What
// it would do wrong all the same, whoever calls, is an error, and so is what leaves a node of opt.Nodes other than
// through ports. c is not changed.
func PlanOfChannels(c *ir.ChannelProgram, opt PlanOptions) (plan *mscclpp.Plan, warnings diag.List, err error) {
	if found := mscclpp.CheckNodes(c, nil, opt.Nodes); len(found) > 0 {
		return nil, nil, found
	}
	c = mscclpp.FitOperands(c)
	fit := mscclpp.FitLaunch(c)
	if fit != nil && !fit.Code.Warning() {
		return nil, nil, diag.List{*fit}
	}
	var unused diag.List
	proof := func() diag.List { return nil }
	if !opt.Unproven {
		proof = ir.InBackground(func() diag.List {
			_, report, found := channels.Check(c, opt.Check)
			unused = report.Warnings
			return found
		})
	}
	named := mscclpp.NameLarger(c)
	plan, err = mscclpp.PlanOf(named)
	var hash uint64
	if err == nil {
		plan.Name = ""
		hash, err = mscclpp.Hash(plan)
	}
	if found := proof(); len(found) > 0 {
		return nil, nil, found
	}
	if err != nil {
		return nil, nil, err
	}
	words := append([]string{cmp.Or(c.Name, c.Coll.Kind.String())}, opt.Params...)
	if !slices.ContainsFunc(opt.Params, func(p string) bool { return strings.HasPrefix(p, "ranks=") }) {
		words = append(words, fmt.Sprintf("ranks=%d", c.Coll.Ranks))
	}
	plan.Name = fmt.Sprintf("%.200s %v %016x", strings.Join(words, " "), c.Protocol, hash)
	warnings = mscclpp.Faults(named)
	if wrong := certain(warnings); len(wrong) > 0 {
		return nil, nil, wrong
	}
	if fit != nil {
		warnings = append(warnings, *fit)
	}
	return plan, append(warnings, unused...), nil
}

// certainFaults are those that no call of a plan avoids, with what its author can do.
var certainFaults = map[diag.Code]string{
	diag.MSCCLPPGet:     "have the owner put it, or name one index at both ends",
	diag.MSCCLPPPut:     "make it an operation for each buffer",
	diag.MSCCLPPDouble:  "move packets there (protocol LL), or leave out double_scratch",
	diag.MSCCLPPLoop:    "have all operations of the loop move its chunks, whole",
	diag.MSCCLPPHalves:  "leave out double_scratch",
	diag.MSCCLPPPart:    "write it for buffers apart, without inplace = true",
	diag.MSCCLPPRoom:    "leave out reuse_scratch",
	diag.MSCCLPPThreads: "launch more threads",
}

// certain returns the certain faults of a plan, as errors.
func certain(faults diag.List) (wrong diag.List) {
	for _, d := range faults {
		if hint, is := certainFaults[d.Code]; is {
			d.Code, d.Text = diag.Unsupported, "MSCCL++'s executor would run this wrong: "+d.Text
			wrong = append(wrong, d.WithHint("%s", hint))
		}
	}
	return wrong
}

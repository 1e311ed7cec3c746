package choosing

import (
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/synthesis/certificate"
	"mscclc/topology"
)

// Selector returns what chooses programs of a collective for a target, on all GPUs of a topology.
func Selector(kind string, t *topology.Topology, costs *devices.Costs, call simulate.Call, target *codegen.Target,
	inplace bool, root int) (*choose.Selector, error) {
	s := &choose.Selector{Topology: t, Costs: costs, DType: call.DType, Target: target, By: call.Figure}
	s.Call = choose.Call{Ranks: t.Ranks(), Nodes: t.Nodes, Inplace: inplace, Root: root}
	if target.Format == codegen.FormatProgram {
		s.Call.On = choose.InBlocks(t.Ranks(), t.Nodes)
	}
	s.Call.Kind, _ = ir.KindByName(kind)
	if s.Call.Ranks > choose.MostRanks {
		return nil, cli.Usagef("a collective is chosen for up to %d ranks, and %s has %d", choose.MostRanks, t.Name,
			s.Call.Ranks)
	}
	return s, nil
}

// Nothing returns the error that no program serves on a topology that the user calls spec: it has a note for each
// reason.
func Nothing(s *choose.Selector, spec string, err error) error {
	lines := strings.Split(err.Error(), "\n")
	d := diag.New(diag.Unsupported, diag.Span{}, "%s", lines[0])
	for _, why := range lines[1:min(len(lines), 1+diag.Shown)] {
		d = d.WithNote(diag.Span{}, "%s", why)
	}
	if slices.ContainsFunc(lines, func(why string) bool { return strings.Contains(why, "chunks do not divide") }) {
		d = d.WithHint("all sizes are multiples of -b: -b %d is one that the chunks of most programs divide",
			s.Call.Ranks*s.DType.Size()*64)
	} else if HasTrees(s.Call) {
		d = d.WithHint("a program of %s may fit the links of the machine: %s", certificate.Trees(s.Call.Kind),
			TreesCommand(s.Call, spec))
	}
	return diag.List{d}
}

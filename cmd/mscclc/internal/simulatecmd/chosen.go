package simulatecmd

import (
	"errors"
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/simulate"
	"mscclc/topology"
)

// Selector returns what chooses programs of a collective for a target, on all GPUs of a topology.
func Selector(kind string, t *topology.Topology, costs *simulate.Costs, call simulate.Call, target *codegen.Target,
	inplace bool) (*choose.Selector, error) {
	s := &choose.Selector{Topology: t, Costs: costs, DType: call.DType, Target: target, By: call.Figure}
	s.Call = choose.Call{Ranks: t.Ranks(), Nodes: t.Nodes, Inplace: inplace}
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

// Nothing says why no program serves, one reason a note.
func Nothing(s *choose.Selector, err error) error {
	lines := strings.Split(err.Error(), "\n")
	d := diag.New(diag.Unsupported, diag.Span{}, "%s", lines[0])
	for _, why := range lines[1:min(len(lines), 1+diag.Shown)] {
		d = d.WithNote(diag.Span{}, "%s", why)
	}
	if slices.ContainsFunc(lines, func(why string) bool { return strings.Contains(why, "chunks do not divide") }) {
		d = d.WithHint("sizes are -b and twice as much again and again: -b %d is one that the chunks of most programs divide",
			s.Call.Ranks*s.DType.Size()*64)
	}
	return diag.List{d}
}

// chosen is programs of a collective.
func (f *Flags) chosen(kind string, t *topology.Topology, costs *simulate.Costs, sizes []int64,
	call simulate.Call) (of func(call *simulate.Call) (*ir.Program, string, error), err error) {
	const takes = "--topology, --costs, --dtype, --by, --inplace and sizes"
	if f.RanksSetting != "" {
		return nil, cli.Usagef("of a collective all GPUs of the topology take part: -t h200:gpus=4 has four, not --ranks")
	}
	if err := f.ChosenOnly(takes, "inplace", "import-path", "limit"); err != nil {
		return nil, err
	}
	if flag := f.OneGiven("ctas", "columns", "threads", "tile", "multicast"); flag != "" {
		return nil, cli.Usagef("of a collective the fastest variant is chosen: it takes %s, not %s", takes, flag)
	}
	target, err := codegen.TargetByName("program")
	if err != nil {
		return nil, err
	}
	s, err := Selector(kind, t, costs, call, target, f.Inplace.Value != nil && *f.Inplace.Value)
	if err != nil {
		return nil, err
	}
	list, err := s.Sizes(sizes)
	if errors.Is(err, choose.ErrNothing) || errors.Is(err, simulate.ErrNoWay) {
		err = Nothing(s, err)
	}
	if err != nil {
		return nil, err
	}
	compiled := map[choose.Form]*ir.Program{}
	return func(call *simulate.Call) (p *ir.Program, name string, err error) {
		at := 0
		for i := range list {
			if list[i].From <= call.Bytes {
				at = i
			}
		}
		form := list[at].Form
		for _, w := range list[at].Widths {
			if w.From <= call.Bytes {
				form.Columns, form.Tile = w.Columns, w.Tile
			}
		}
		call.Columns, call.Threads, call.Tile = form.Columns, form.Threads, form.Tile
		form.Variant = form.Plain()
		if p = compiled[form]; p == nil {
			p, err = s.Program(form)
			compiled[form] = p
		}
		return p, form.String(), err
	}, nil
}

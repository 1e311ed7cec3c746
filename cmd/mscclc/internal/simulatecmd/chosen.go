package simulatecmd

import (
	"errors"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/synthcmd"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// suggest notes a program of trees that is faster than what was chosen of a collective, if there is one.
func (f *Flags) suggest(a *cli.App, t *topology.Topology, c *ir.Collective, rows []simulatedSize) {
	if f.Costs != "" || f.device != "" {
		return // with which programs of trees are not simulated
	}
	var list []synthcmd.Chosen
	for _, r := range rows {
		if r.Program != "" {
			call := choose.Call{Kind: c.Kind, Ranks: c.Ranks, Root: c.Root, Inplace: c.Inplace}
			list = append(list, synthcmd.Chosen{Call: call, Bytes: r.Bytes, Micros: r.Latency, Share: r.Share})
		}
	}
	synthcmd.Suggest(a, t, f.topology, list)
}

// chosen is programs of a collective.
func (f *Flags) chosen(a *cli.App, kind string, t *topology.Topology, costs *devices.Costs, sizes []int64,
	call simulate.Call) (of func(call *simulate.Call) (*either.Program, string, error), err error) {
	const takes = "--topology, --costs, --dtype, --by, --root, --inplace and sizes"
	if f.RanksSetting != "" {
		return nil, cli.Usagef("of a collective all GPUs of the topology take part: -t h200:gpus=4 has four, not --ranks")
	}
	if err := f.ChosenOnly(takes, "inplace", "import-path", "limit"); err != nil {
		return nil, err
	}
	if flag := f.OneGiven("ctas", "threads", "tile", "multicast"); flag != "" {
		return nil, cli.Usagef("of a collective the fastest variant is chosen: it takes %s, not %s", takes, flag)
	}
	root, given := f.Root()
	target, err := codegen.TargetByName("program")
	if err != nil {
		return nil, err
	}
	s, err := choosing.Selector(kind, t, costs, call, target, f.Inplace.Value != nil && *f.Inplace.Value, root)
	if err == nil {
		err = cli.CheckRoot(s.Call.Kind, s.Call.Ranks, root, given)
	}
	if err != nil {
		return nil, err
	}
	s.Exhaustive = f.exhaustive
	bar := a.Progress(len(sizes), "choose")
	s.Stepped = bar.Step
	stop := bar.Watch()
	list, err := s.Sizes(sizes)
	stop()
	if none := s.NoRing(); none != "" {
		a.Note("", "%s", none)
	}
	if errors.Is(err, choose.ErrNothing) || errors.Is(err, simulate.ErrNoWay) {
		err = choosing.Nothing(s, f.topology, err)
	}
	if err != nil {
		return nil, err
	}
	compiled := map[choose.Form]*either.Program{}
	return func(call *simulate.Call) (p *either.Program, name string, err error) {
		at := 0
		for i := range list {
			if list[i].From <= call.Bytes {
				at = i
			}
		}
		form := list[at].Form
		for _, w := range list[at].Widths {
			if w.From <= call.Bytes {
				form.Replicas, form.Tile = w.Replicas, w.Tile
			}
		}
		call.Width = form.Width
		form.Choice = form.Plain()
		if p = compiled[form]; p == nil {
			p, err = s.Program(form)
			compiled[form] = p
		}
		return p, form.String(), err
	}, nil
}

package verifycmd

import (
	"fmt"
	"strconv"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/ir/diag"
)

// A bundleReport is what --json says of a bundle.
type bundleReport struct {
	Device   string   `json:"device"`
	Ranks    []int    `json:"ranks"`
	Nodes    []string `json:"nodes,omitempty" doc:"ranks on several nodes that it has programs for"`
	Programs int      `json:"programs" doc:"that were proven"`
	Cubins   int      `json:"cubins" doc:"images of machine code, which nothing is compared with"`
}

// judgeBundle proves the programs of a bundle, and notes what there is to say of it.
func (d *verdict) judgeBundle(name string, text []byte, f *verifyFlags) error {
	if flag := f.Unfit("target", "ranks", "fused-receives", "protocol", "inplace", "nodes"); flag != "" {
		return compiling.CompiledAlready(name, flag)
	}
	b, machine, err := bundle.Verify(name, text)
	if err != nil {
		return err
	}
	r := &bundleReport{Programs: len(b.Programs), Cubins: machine}
	var ranks []string
	nodes := ""
	for i := range b.Sets {
		s := &b.Sets[i]
		if r.Device = s.Device; s.Node != nil {
			r.Nodes = append(r.Nodes, s.Title())
			continue
		}
		r.Ranks = append(r.Ranks, s.Ranks)
		ranks = append(ranks, strconv.Itoa(s.Ranks))
	}
	if len(r.Nodes) > 0 {
		nodes = "; " + cli.List(r.Nodes)
	}
	d.report.Bundle = r
	d.line = fmt.Sprintf("proven: %s of a bundle for %s, %s ranks%s", diag.Counted(r.Programs, "program"),
		diag.Printable(r.Device), cli.List(ranks), nodes)
	switch {
	case f.slots > 0:
		d.note = "--slots is ignored: a one-sided program has no connections"
	case machine > 0:
		d.note = fmt.Sprintf("%s of machine code cannot be compared with the kernels of this mscclc",
			diag.Counted(machine, "image"))
	}
	return nil
}

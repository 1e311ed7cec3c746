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
	Device   string `json:"device"`
	Ranks    []int  `json:"ranks"`
	Programs int    `json:"programs" doc:"that were proven"`
	Cubins   int    `json:"cubins" doc:"images of machine code, which nothing is compared with"`
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
	for i := range b.Sets {
		r.Device = b.Sets[i].Device
		r.Ranks = append(r.Ranks, b.Sets[i].Ranks)
		ranks = append(ranks, strconv.Itoa(b.Sets[i].Ranks))
	}
	d.report.Bundle = r
	d.line = fmt.Sprintf("proven: %s of a bundle for %s, %s ranks", diag.Counted(r.Programs, "program"),
		diag.Printable(r.Device), cli.List(ranks))
	switch {
	case f.slots > 0:
		d.note = "--slots is ignored: a one-sided program has no connections"
	case machine > 0:
		d.note = fmt.Sprintf("%s of machine code cannot be compared with the kernels of this mscclc",
			diag.Counted(machine, "image"))
	}
	return nil
}

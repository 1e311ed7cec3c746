package verifycmd

import (
	"fmt"
	"strconv"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/codegen"
	"mscclc/codegen/program"
	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// A bundleReport is what --json says of a bundle.
type bundleReport struct {
	Device    string   `json:"device"`
	Ranks     []int    `json:"ranks"`
	Nodes     []string `json:"nodes,omitempty" doc:"ranks on several nodes that it has programs for"`
	Invariant []int    `json:"invariant,omitempty" doc:"ranks for which it has rules for invariant bits"`
	Programs  int      `json:"programs" doc:"that were proven"`
	Cubins    int      `json:"cubins" doc:"images of machine code, which nothing is compared with"`

	Bitwise []bundleBitwise `json:"bitwise,omitempty" doc:"of --bitwise: one for each program of an AllReduce"`
}

// A bundleBitwise says whether all ranks of a program of a bundle end with the same bits.
type bundleBitwise struct {
	Program string `json:"program"`
	Ranks   int    `json:"ranks"`
	*bitwiseReport
}

// A bundleSums is the order of the sums of a program of a bundle.
type bundleSums struct {
	of      string // what lines about it begin with
	program *either.Program
	order   bitwise.Order
}

// sumsOf compares the sums of all ranks of each AllReduce of a bundle.
func (d *verdict) sumsOf(b *bundle.Bundle) error {
	for _, row := range b.Programs {
		if ir.Kind(row.Kind) != ir.AllReduce {
			continue
		}
		p, err := program.Decode(row.Title(), row.Source, codegen.ReadOptions{})
		if err != nil {
			return err
		}
		order := bitwise.OrderOf(p)
		if !order.Same() {
			d.code = max(d.code, cli.ExitInput)
		}
		d.sums = append(d.sums, bundleSums{fmt.Sprintf("%s on %d ranks: ", row.Title(), row.Ranks), p, order})
		d.report.Bundle.Bitwise = append(d.report.Bundle.Bitwise, bundleBitwise{row.Title(), int(row.Ranks),
			newBitwise(p, order)})
	}
	if len(d.sums) == 0 {
		d.note = "--bitwise compares the sums of AllReduce, and the bundle has no program of it"
	}
	return nil
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
		if s.Invariant {
			r.Invariant = append(r.Invariant, s.Ranks)
			continue
		}
		r.Ranks = append(r.Ranks, s.Ranks)
		ranks = append(ranks, strconv.Itoa(s.Ranks))
	}
	if len(r.Nodes) > 0 {
		nodes = "; " + cli.List(r.Nodes)
	}
	d.report.Bundle = r
	if f.bits == bitsOrder {
		if err := d.ordersOf(b); err != nil {
			return err
		}
	}
	if f.bitwise {
		if err := d.sumsOf(b); err != nil {
			return err
		}
	}
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

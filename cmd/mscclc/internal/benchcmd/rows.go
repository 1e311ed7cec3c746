package benchcmd

import (
	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/ir/either"
)

// This file measures programs with an epilogue: --row says how long their rows are.

// checkRow refuses a --row that makes no sense, whatever the program.
func (f *benchFlags) checkRow(p *benchPlan) error {
	switch {
	case f.row == 0:
		return nil
	case p.named:
		return cli.Usagef("--row is for programs with an epilogue, and those that are chosen for %v have none", p.kind).Hint(
			"name a file alone: see mscclc list rows")
	case f.vs != "":
		return cli.Usagef("--row measures programs with an epilogue, and --vs %s has none", f.vs)
	case f.unalign > 0:
		return cli.Usagef("--row has aligned buffers: leave -u out")
	}
	return sizing.CheckRow(f.row)
}

// fitRows checks that --row is given for programs with an epilogue, and for no others. Calls then have whole rows.
func (w *benchWorld) fitRows() error {
	for _, p := range w.programs() {
		if p != nil {
			if err := sizing.RowFits(p, w.row); err != nil {
				return err
			}
		}
	}
	if w.row > 0 {
		w.multiple = max(w.multiple, 1) * int64(w.row)
	}
	for i := range w.roots {
		w.roots[i].multiple = w.multiple
	}
	return nil
}

// rows returns what rows calls have, or nil.
func (w *benchWorld) rows() *bench.Rows {
	if w.row == 0 {
		return nil
	}
	return &bench.Rows{Length: w.row, Then: w.anyGiven().Then}
}

// held is how many times the host holds as many elements as a call's output: with rows, it has a copy of all.
func held(p *either.Program) float64 {
	if p == nil || len(p.Then) == 0 {
		return 1
	}
	return 2 * sizing.Outputs(p.Then)
}

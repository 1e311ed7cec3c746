package runcmd

import (
	"context"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir/either"
	"mscclc/ir/epilogue"
)

// This file runs programs with an epilogue: --row says how long their rows are.

// rowFits checks that --row is given for a program with an epilogue, and for no other.
func (f *runFlags) rowFits(p *either.Program) error {
	switch {
	case len(p.Then) > 0 && f.row == 0:
		return cli.Usagef("the program finishes rows (%v), and --row does not say how long they are", p.Then).Hint(
			"--row 4096 is for rows of 4096 elements")
	case len(p.Then) == 0 && f.row > 0:
		return cli.Usagef("--row is for programs with an epilogue, and the program has none").Hint(
			"leave --row out, or see mscclc list rows")
	}
	return nil
}

// measure is how many elements calls have: of programs with an epilogue, whole rows.
func (r *runPlan) measure(p *either.Program, even bool) sizing.Measure {
	m := sizing.MeasureOf(p.Coll, r.dtype, even)
	m.Unit *= int64(max(r.flags.row, 1))
	return m
}

// geometry lays out pieces of a number of elements, and their rows where the program has an epilogue.
func (r *runPlan) geometry(p *either.Program, elems int64) data.Geometry {
	if row := int64(r.flags.row); row > 0 {
		return data.NewGeometry(p.Coll, elems/row, r.dtype.Size()*r.flags.row)
	}
	return data.NewGeometry(p.Coll, elems, r.dtype.Size())
}

// asked is what the proof of a call must cover. geo is geometry's.
func (r *runPlan) asked(p *either.Program, geo data.Geometry) executor.Args {
	args := executor.Args{Elems: geo.Elems, DType: r.dtype, RedOp: r.redop}
	if len(p.Then) > 0 {
		args.Rows = &executor.RowArgs{Length: r.flags.row, Values: make([]float64, len(p.Then))}
	}
	return args
}

// A callData is the memory of a call, whose result can be checked.
type callData struct {
	args  executor.Args
	reset func()
	check func(ctx context.Context) (data.Report, error)
}

// newData makes the memory of a call. geo is geometry's.
func (r *runPlan) newData(p *either.Program, geo data.Geometry) callData {
	t := r.flags.team
	if len(p.Then) == 0 {
		b := data.NewFor(t.ranks(p.Coll), geo, r.dtype, r.redop, r.flags.seed)
		return callData{executor.DataArgs(b), b.Reset,
			func(ctx context.Context) (data.Report, error) { return t.check(ctx, b) }}
	}
	b := data.NewRows(geo, p.Then, r.flags.row, r.dtype, r.flags.seed)
	return callData{executor.DataRows(b), b.Reset,
		func(context.Context) (data.Report, error) { return b.Check(), nil }}
}

// outputs is how many times a call holds as many elements as a rank's output: the output, and with an epilogue also
// residuals, which are kept, and scales.
func outputs(l epilogue.List) float64 {
	n := 1.0
	for _, s := range l {
		n += s.Row().RowBytes
		if s.Row().Writes != epilogue.Nothing {
			n++
		}
	}
	return n
}

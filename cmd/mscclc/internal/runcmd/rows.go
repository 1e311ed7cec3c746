package runcmd

import (
	"context"

	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir/either"
)

// This file runs programs with an epilogue: --row says how long their rows are.

// measure is how many elements calls have: of programs with an epilogue, whole rows.
func (r *runPlan) measure(p *either.Program, even bool) sizing.Measure {
	m := sizing.MeasureOf(p.Coll, r.dtype, even)
	m.Unit, m.Row = m.Unit*int64(max(r.flags.row, 1)), r.flags.row
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
			func(ctx context.Context) (data.Report, error) { return t.all(ctx, b.CheckRanks(t.ranks(p.Coll))) }}
	}
	b := data.NewRowsFor(t.ranks(p.Coll), geo, p.Then, r.flags.row, r.dtype, r.flags.seed)
	return callData{executor.DataRows(b), b.Reset,
		func(ctx context.Context) (data.Report, error) { return t.all(ctx, b.CheckRanks(t.ranks(p.Coll))) }}
}

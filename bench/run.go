package bench

import (
	"context"
	"errors"
	"time"

	"mscclc/executor/data"
	"mscclc/ir"
)

// A Job is what Run measures. Form gives the form for a size, in place or not;
// nil is a placement that there is no program for.
type Job struct {
	Site      Site
	Coll      *ir.Collective // kind, ranks, root and peers
	DType     data.DType
	RedOp     data.RedOp
	Sizes     []int64
	Multiple  int64 // elements of a piece are a multiple of this; 0 is 1
	Rows      *Rows // of a program with an epilogue, or nil; Multiple is one of their length
	Form      func(bytes int64, inplace bool) (*Form, error)
	Rivals    func(ctx context.Context, c *Call) ([]Op, error) // NCCL's, one a launch mode, or another; or nil
	Unalign   int64                                            // elements that buffers lie after aligned addresses
	Measuring Measuring
	Row       func(*Row) // sees each row when it is done
}

// Run measures all sizes. A size that fails has its error in its row; but if a thread is stuck, there is an end.
func (j *Job) Run(ctx context.Context, report *Report) error {
	for _, bytes := range j.Sizes {
		row := &Row{DType: j.DType, RedOp: j.RedOp, Root: j.Coll.Root}
		for i, inplace := range [2]bool{false, true} {
			c := j.call(bytes, inplace)
			row.Bytes, row.Count = c.Bytes(), c.Elems
			result, err := j.place(ctx, c)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if ends(err) {
				return err
			}
			if err != nil {
				result = &Result{Err: err}
			}
			if i == 0 {
				row.OutOfPlace = result
			} else {
				row.InPlace = result
			}
		}
		row.Done = time.Now()
		report.Rows = append(report.Rows, row)
		if j.Row != nil {
			j.Row(row)
		}
	}
	return nil
}

// call returns the call of a size.
func (j *Job) call(bytes int64, inplace bool) *Call {
	coll := Whole(j.Coll, inplace)
	elems := data.PieceElems(coll, bytes, j.DType)
	if j.Multiple > 1 && elems >= j.Multiple {
		elems -= elems % j.Multiple
	}
	if j.Rows != nil {
		elems -= elems % int64(j.Rows.Length)
	}
	return &Call{Coll: coll, DType: j.DType, RedOp: j.RedOp, Elems: elems, Rows: j.Rows, Unalign: j.Unalign}
}

// place checks and measures one placement of one size, beside NCCL.
func (j *Job) place(ctx context.Context, c *Call) (result *Result, err error) {
	form, err := j.Form(c.Bytes(), c.Coll.Inplace)
	if form == nil || err != nil {
		return nil, err
	}
	var ops []Op
	op, err := j.Site.Ready(ctx, form, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = closed(ctx, j.Site, op, err) }()
	ops = append(ops, op)
	if j.Rivals != nil {
		rivals, err := j.Rivals(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, rival := range rivals {
			defer func() { err = closed(ctx, j.Site, rival, err) }()
		}
		ops = append(ops, rivals...)
	}
	found := make([]Found, len(ops))
	for i, op := range ops {
		if i > 1 {
			continue // NCCL again, launched in another way
		}
		if found[i], err = checked(ctx, j.Site, op, c); err != nil {
			return nil, err
		}
	}
	samples, err := j.Site.Measure(ctx, ops, j.Measuring, c)
	if err != nil {
		return nil, err
	}
	ours := &samples[0]
	result = &Result{Time: us(ours.Time), CPU: us(ours.CPU), Each: ours.Each, Launches: ours.Launches, How: ours.How,
		Form: form.Name, Found: found[0].worse(ours.Found)}
	for _, s := range samples[1:] {
		t := us(s.Time)
		switch v := result.Rival; {
		case v == nil:
			result.Rival = &Rival{Time: t, CPU: us(s.CPU), How: s.How, Found: found[1].worse(s.Found)}
		case t < v.Time:
			result.Rival = &Rival{Time: t, CPU: us(s.CPU), How: s.How, Other: v.Time, Found: v.Found.worse(s.Found)}
		default:
			v.Other, v.Found = t, v.Found.worse(s.Found)
		}
	}
	return result, nil
}

// closed closes an operation, of which err is what has failed so far. If that fails in one process, it fails in all.
func closed(ctx context.Context, s Site, op Op, err error) error {
	if failed := op.Close(); failed != nil {
		err = errors.Join(err, failed)
	}
	if ends(err) {
		return err
	}
	return s.Agree(ctx, err)
}

// checked runs an operation once on random data, and looks at what it did.
func checked(ctx context.Context, s Site, op Op, c *Call) (Found, error) {
	return placed(ctx, s, c, First, func() error { return s.Once(ctx, op) })
}

// placed does something with the data of a round in place, and looks at what came of it.
func placed(ctx context.Context, s Site, c *Call, round Round, do func() error) (Found, error) {
	if err := s.Place(ctx, c, round); err != nil {
		return Found{}, err
	}
	if err := do(); err != nil {
		return Found{}, err
	}
	return s.Check(ctx, c, round)
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Steps returns the sizes from first to last, each step bytes above the one before.
func Steps(first, last, step int64) []int64 {
	var list []int64
	for n := first; n <= last; n += step {
		list = append(list, n)
		if step < 1 || n > last-step {
			break
		}
	}
	return list
}

// Sizes returns the sizes from first to last, each factor times the one before. After 0 comes 1.
func Sizes(first, last, factor int64) []int64 {
	var list []int64
	if first == 0 {
		list, first = append(list, 0), 1
	}
	for n := first; n <= last; n *= factor {
		list = append(list, n)
		if factor < 2 || n > last/factor {
			break
		}
	}
	return list
}

package mscclc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"mscclc"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
)

// TestNumericsOfOthers runs MSCCL-IR of other compilers, as it is and as Lower makes it one-sided, on numbers from the
// edges of the types: programs that copy inputs to scratch first, or reduce them where they lie, scale each once.
func TestNumericsOfOthers(t *testing.T) {
	for _, dir := range []string{irtest.Own(t, irtest.XML), irtest.Others(t, irtest.XML)} {
		for _, f := range othersPrograms(t, dir) {
			if c := f.program.Coll; len(f.codes) > 0 || !c.SumsKnown() || c.Kind == ir.Custom {
				continue
			}
			t.Run(f.name, func(t *testing.T) {
				numericsOf(t, f.program)
				if one, err := mscclc.Lower(f.program, 0); err == nil {
					numericsOf(t, one)
				}
			})
		}
	}
}

func numericsOf(t *testing.T, p *either.Program) {
	l, err := executor.Load(p, executor.Options{Device: cpu.Device(), Unproven: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, dt := range []data.DType{data.F16, data.BF16, data.F32, data.I8, data.E5M2} {
		for _, op := range []data.RedOp{data.Avg, data.Max} {
			b := data.NewEdges(data.NewGeometry(p.Coll, 11*int64(p.Coll.Chunks), dt.Size()), dt, op, uint64(dt))
			args := executor.DataArgs(b)
			args.Threads, args.Wait = 1, time.Minute
			_, err := l.Run(context.Background(), args)
			rep := b.Check()
			if p.ModifiesInput() {
				rep.Changed = nil
			}
			if err := errors.Join(err, rep.Err()); err != nil {
				t.Errorf("%v %v: %v", dt, op, err)
			}
		}
	}
}

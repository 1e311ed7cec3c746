package gputest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/executor/plan"
	"mscclc/ir"
)

// testRowsProcesses has a process for each rank run programs with an epilogue, of which some write rows to the output
// of other processes.
func testRowsProcesses(t *testing.T, _ Device) {
	for _, proto := range []ir.Protocol{ir.Simple, ir.LL} {
		for i, c := range startJob(t, "rows", proto, nil) {
			if code, said := c.end(t); code != 0 {
				t.Errorf("%v, process %d: %s", proto, i, said)
			}
		}
	}
}

// childRows runs its rank of some programs, with the residual in place and apart.
func childRows(ctx context.Context, d Device, r role) error {
	at := exchange.At(r.Address)
	at.Secret = []byte(r.Address)
	x, err := exchange.Join(ctx, at, r.Index, r.Size)
	if err != nil {
		return err
	}
	gpus, err := d.Open().GPUs()
	if err != nil {
		return err
	}
	for _, name := range []string{"before", "apart", "onestep"} {
		p, err := rowProgram(name, "residual, rms_norm(eps), quantise(e4m3, block = 32)", r.Size, r.Proto)
		if err != nil {
			return err
		}
		g, err := newRig(ctx, d, p, plan.Options{GPUs: d.Open(r.Index % len(gpus)), Exchange: x, Unproven: true})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for k, rows := range []int64{7, 0, 64} {
			length := []int{96, 8, 33}[k]
			geo := data.NewGeometry(p.Coll, rows, length*data.BF16.Size())
			made := data.NewRowsFor(g.plan.Ranks(), geo, p.Then, length, data.BF16, 1)
			if k == 0 {
				made.InPlace()
			}
			if err := g.rowsOnce(ctx, x, made); err != nil {
				return fmt.Errorf("%s, %d rows: %w", name, rows, err)
			}
		}
		if err := g.Close(); err != nil {
			return err
		}
	}
	return x.Close()
}

// rowsOnce runs a call of a process's ranks.
func (r *rig) rowsOnce(ctx context.Context, x *exchange.Member, rows *data.Rows) error {
	j, err := r.bindRows(ctx, rows, 0, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(j.fill(), j.launch(), r.plan.Wait(ctx), j.compare()); err != nil {
		return err
	}
	_, err = x.AllGather(ctx, nil) // nobody frees what another still writes
	return errors.Join(err, j.close())
}

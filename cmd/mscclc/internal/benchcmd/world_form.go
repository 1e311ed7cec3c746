package benchcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"

	"mscclc"
	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/launch"
	"mscclc/ir/either"
	"mscclc/selection"
)

// This file says which form measures a size.

// anyGiven returns the file's program, for calls out of place where it has one for them, else in place.
func (w *benchWorld) anyGiven() *either.Program { return cmp.Or(w.given[0], w.given[1]) }

// form returns what measures a size.
func (w *benchWorld) form(ctx context.Context, a *cli.App, bytes int64, inplace bool) (*bench.Form, error) {
	if f, ok := w.forms[w.key(bytes, inplace)]; ok {
		return f, nil
	}
	if !w.measures(inplace) {
		return nil, nil
	}
	if w.measured != nil {
		return w.byRules(bytes, inplace)
	}
	f := &bench.Form{}
	if !w.named {
		if f.Program = w.given[0]; inplace {
			f.Program = w.given[1]
		}
		if f.Program == nil {
			return nil, nil
		}
		f.Name = fmt.Sprintf("%s %v", path.Base(f.Program.Name), f.Program.Protocol)
	} else if w.plans() {
		return w.planForm(bytes, inplace)
	} else {
		call := w.call(inplace)
		v, err := choosing.Together(ctx, w.exchange, w.chooser, call, max(bytes, 1), w.dtype.Size())
		if errors.Is(err, choose.ErrNotInPlace) {
			return nil, nil
		}
		if err == nil && w.trying != nil {
			v, err = w.settle(ctx, call, bytes)
		}
		if err != nil {
			return nil, err
		}
		if f, err = w.variant(v, call); err != nil {
			return nil, err
		}
	}
	n, note, err := w.ctas.Replicas(f.Program, w.mostReplicas(), devices.SharesCTAs(w.device))
	if err != nil {
		return nil, err
	}
	if note != "" && w.first {
		a.Note("", "%s", note)
	}
	if w.ctas.Given() || w.threads > 0 || w.tileBytes > 0 {
		f.Choice.Width = launch.Width{Replicas: n, Threads: w.threads, Tile: w.tileBytes}
	}
	f.Name += f.Choice.WidthText()
	return f, nil
}

// mostReplicas returns how many replicas of a program the device may have.
func (w *benchWorld) mostReplicas() int {
	if devices.GPUs[w.device] == nil {
		return executor.DefaultMaxReplicas
	}
	return math.MaxInt32
}

func (w *benchWorld) call(inplace bool) choose.Call {
	return choose.Call{Kind: w.coll.Kind, Ranks: w.coll.Ranks, Root: w.coll.Root, Inplace: inplace, Nodes: w.nodes,
		On: w.on}
}

// variant makes a form of a variant. Its name is without the width.
func (w *benchWorld) variant(v selection.Choice, call choose.Call) (*bench.Form, error) {
	p, err := w.chooser.Program(v, call)
	if err != nil {
		return nil, err
	}
	if target, err := codegen.TargetByName("program"); err == nil {
		if err := mscclc.Fits(p, target).Err(); err != nil {
			return nil, err
		}
	}
	f := &bench.Form{Program: p, Choice: v}
	if devices.GPUs[w.device] == nil {
		f.Choice.Threads = 0
	}
	f.Name = v.Plain().String()
	return f, nil
}

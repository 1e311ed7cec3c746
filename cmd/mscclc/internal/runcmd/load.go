package runcmd

import (
	"context"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// loadFile makes what arg names runnable, which proves it.
func loadFile(a *cli.App, arg string, f *runFlags, dtype data.DType) (runner, *either.Program, error) {
	p, check, err := compiling.Runnable(a, arg, &f.Request)
	if err != nil {
		return nil, nil, err
	}
	l, err := loadProgram(a, arg, p, check, f, dtype)
	return l, p, err
}

// A runner is a program that can run: in this process (executor.Loaded), or in all of a team.
type runner interface {
	Program() *either.Program // that runs: with --sided lowered, the lowered one
	Even() bool
	Prove(args executor.Args) error
	Run(ctx context.Context, args executor.Args) (executor.Result, error)
	Close() error
}

// loadProgram makes p, which messages call name, runnable.
func loadProgram(a *cli.App, name string, p *either.Program, check verify.Options, f *runFlags,
	dtype data.DType) (l runner, err error) {
	if err := sizing.RowFits(p, f.row); err != nil {
		return nil, err
	}
	if f.team != nil {
		l, err = f.team.prepare(p, check, f, dtype)
		err = f.Nodes.Hinted(err, func() []int { return f.team.on(p.Coll.Ranks) })
	} else {
		l, err = loadHere(p, check, f, dtype)
	}
	if err != nil {
		return nil, err
	}
	if t, ok := l.(*teamed); ok && t.team.x.Index() == 0 && t.plan.Network() != "" {
		a.Note(name, "runs on %s", t.plan.Network())
	}
	if f.Unproven {
		a.Note(name, "the program is not proven")
	}
	if p.ModifiesInput() {
		a.Note(name, "the program overwrites input that is not output")
	}
	return l, nil
}

func loadHere(p *either.Program, check verify.Options, f *runFlags, dtype data.DType) (*executor.Loaded, error) {
	l, err := executor.Load(p, executor.Options{Device: devices.Table[f.device](), Check: check, Unproven: f.Unproven,
		Lower: f.Lowering(), TileBytes: tileFor(p, f.Size, int64(f.row*dtype.Size()))})
	if err != nil {
		return nil, devices.Impossible(err)
	}
	return l, nil
}

// tileFor returns how long the tile of a program is to be whose launches have one pass, for calls of a given number of
// bytes, of rows of `row` bytes where that is not 0; 0 is the usual.
func tileFor(p *either.Program, bytes, row int64) int64 {
	if p.OneSided == nil || !p.OneSided.OnePass || bytes == 0 {
		return 0
	}
	return bytes/int64(max(p.Coll.Divisor(), 1))/executor.DefaultMaxReplicas + 256 + 2*row
}

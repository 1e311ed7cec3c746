package runcmd

import (
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/executor"
	"mscclc/ir"
	"mscclc/ir/verify"
)

// loadFile makes what arg names runnable, which proves it.
func loadFile(a *cli.App, arg string, f *runFlags) (*executor.Loaded, *ir.Program, error) {
	p, check, err := compiling.Runnable(a, arg, &f.Request)
	if err != nil {
		return nil, nil, err
	}
	l, err := loadProgram(a, arg, p, check, f)
	return l, p, err
}

// loadProgram makes p, which messages call name, runnable.
func loadProgram(a *cli.App, name string, p *ir.Program, check verify.Options, f *runFlags) (*executor.Loaded, error) {
	l, err := executor.Load(p, executor.Options{Device: devices.Table[f.device](), Check: check, Unproven: f.Unproven,
		TileBytes: tileFor(p, f.Size)})
	if err != nil {
		return nil, devices.Impossible(err)
	}
	if f.Unproven {
		a.Note(name, "the program is not proven")
	}
	if p.ModifiesInput() {
		a.Note(name, "the program overwrites input that is not output")
	}
	return l, nil
}

// tileFor is how long the tile of a program is to be whose launches have one pass, for calls of so many bytes; 0 is the
// usual.
func tileFor(p *ir.Program, bytes int64) int64 {
	if p.OneSided == nil || !p.OneSided.OnePass || bytes == 0 {
		return 0
	}
	return bytes/int64(max(p.Coll.Divisor(), 1))/executor.DefaultMaxColumns + 256
}

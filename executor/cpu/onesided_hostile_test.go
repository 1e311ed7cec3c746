//go:build cgo

package cpu

import (
	"context"
	"errors"
	"math"
	"math/rand"
	"strings"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// spoil puts numbers at random into a program.
func spoil(p *either.Program, rnd *rand.Rand) {
	number := func() int32 {
		return [...]int32{-1, 0, 1, 2, 3, 5, 1 << 15, 1 << 16, math.MaxInt32, math.MinInt32,
			int32(rnd.Uint32())}[rnd.Intn(11)]
	}
	o := p.OneSided
	s, x := &p.Steps[rnd.Intn(len(p.Steps))], &o.Operands[rnd.Intn(len(o.Operands))]
	b := &p.Blocks[rnd.Intn(len(p.Blocks))]
	switch rnd.Intn(8) {
	case 0:
		s.Op, s.Flags = ir.Op(rnd.Intn(int(ir.NumOps)+1)), ir.StepFlags(rnd.Intn(256))
	case 1:
		s.NSrc, s.NDst = int16(number()), int16(number())
	case 2, 3:
		x.Buf, x.Via = ir.Buf(rnd.Intn(6)), ir.Via(rnd.Intn(5))
	default:
		fields := []*int32{&s.Src, &s.Dst, &s.Count, &s.Class, &s.Pos, &x.Rank, &x.Index, &x.Nth, &x.Index, &x.Rank,
			&s.Count, &b.Rank, &b.Steps.End, &o.Depth, &o.Packets[0], &o.Flags[0], &p.Scratch[0]}
		*fields[rnd.Intn(len(fields))] = number()
	}
}

// nonsense returns a program with numbers at random; turn picks the program.
func nonsense(turn int, rnd *rand.Rand) *either.Program {
	var p *either.Program
	switch turn % 5 {
	case 0:
		p = onePhase(3, 2, ir.LL, 1, true)
	case 1:
		p = onePhase(3, 2, ir.Simple, 1, false)
	case 2:
		p = twoPhases(2, 2, false)
	case 3:
		p = push(3, true)
	case 4:
		p = throughSwitch(3, false)
	}
	for range 1 + rnd.Intn(3) {
		spoil(p, rnd)
	}
	return p
}

// TestOneSidedNonsense loads programs with numbers at random. What is taken runs to
// some end, and touches nothing but its own memory.
func TestOneSidedNonsense(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	taken, wrong := 0, 0
	for i := range 4000 {
		p := nonsense(i, rnd)
		l, err := executor.Load(p, executor.Options{Device: Device(), Unproven: true, Replicas: 2, TileBytes: 64})
		if err != nil {
			continue
		}
		taken++
		d := data.New(data.NewGeometry(p.Coll, 97+int64(rnd.Intn(2))*5, 4), data.I32, data.Sum, 1)
		args := executor.DataArgs(d)
		args.Wait, args.Threads = time.Millisecond, 1
		_, err = l.Run(context.Background(), args)
		rep := d.Check()
		if len(rep.Broken) > 0 {
			t.Fatalf("program %d: %v", i, rep.Broken)
		}
		if err != nil || rep.Err() != nil {
			wrong++
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if taken < 100 || taken > 3000 || wrong == 0 {
		t.Errorf("of 4000, %d were taken, of which %d fail", taken, wrong)
	}
	t.Logf("of 4000, %d were taken, of which %d fail", taken, wrong)
}

// TestOneSidedRefuses holds the image to what it can run safely.
func TestOneSidedRefuses(t *testing.T) {
	for _, x := range []struct {
		name  string
		spoil func(p *either.Program)
		code  diag.Code
		text  string
	}{
		{"operation", func(p *either.Program) { p.Steps[0].Op = ir.Copy }, diag.Malformed, "is operation"},
		{"operands", func(p *either.Program) { p.Steps[1].Src = 1000 }, diag.Malformed, "does not have the operands"},
		{"sources", func(p *either.Program) { p.Steps[0].NSrc = -1 }, diag.Malformed, "does not have the operands"},
		{"no source", func(p *either.Program) { p.Steps[1].NSrc = 0 }, diag.Malformed, "does not have the operands"},
		{"class", func(p *either.Program) { p.Steps[1].Class = 3 }, diag.Malformed, "begins at class 3"},
		{"count", func(p *either.Program) {
			s := &p.Steps[1]
			s.Count, p.Scratch = 1<<16, []int32{1 << 17, 1 << 17, 1 << 17}
			src, dst := &p.OneSided.Operands[s.Src], &p.OneSided.Operands[s.Dst]
			src.Buf, src.Index, dst.Buf, dst.Index = ir.Scratch, 0, ir.Scratch, 1<<16
		}, diag.Limit, "65535"},
		{"rank", func(p *either.Program) { p.OneSided.Operands[p.Steps[1].Dst].Rank = 3 }, diag.OutOfBounds, "on rank 3 of 3"},
		{"buffer", func(p *either.Program) { p.OneSided.Operands[p.Steps[1].Src].Buf = ir.Flags }, diag.Malformed, "has flags as its source"},
		{"chunk", func(p *either.Program) { p.OneSided.Operands[p.Steps[1].Src].Index = 3 }, diag.OutOfBounds, "input[3]*1 of rank 0 as its source, and that has 3"},
		{"flag", func(p *either.Program) { p.OneSided.Operands[p.Steps[0].Dst].Index = 9 }, diag.OutOfBounds, "flags[9]"},
		{"no flag", func(p *either.Program) { p.OneSided.Operands[p.Steps[0].Dst].Buf = ir.Scratch }, diag.Malformed, "has scratch as its destination"},
		{"other's flag", func(p *either.Program) { p.OneSided.Operands[p.Steps[4].Src].Rank = 1 }, diag.Malformed, "waits for its own only"},
		{"two signallers", func(p *either.Program) { p.OneSided.Operands[p.Steps[0].Dst].Index = 5 }, diag.Malformed, "as another block does"},
		{"marks", func(p *either.Program) { p.Steps[0].Flags = 0 }, diag.Malformed, "in each pass or in each launch, and other steps do not"},
		{"both marks", func(p *either.Program) { p.Steps[0].Flags = ir.Enter | ir.Leave }, diag.Malformed, "is marked enter and leave"},
		{"marked move", func(p *either.Program) { p.Steps[1].Flags = ir.Enter }, diag.Malformed, "is marked enter or leave"},
		{"depth", func(p *either.Program) { p.OneSided.Depth = 0 }, diag.Malformed, "0 copies"},
		{"flags", func(p *either.Program) { p.OneSided.Flags = p.OneSided.Flags[:1] }, diag.Malformed, "has 3 ranks"},
		{"packets", func(p *either.Program) {
			p.OneSided.Packets[0] = 1
			p.OneSided.Operands[p.Steps[1].Src].Buf = ir.Packets
		}, diag.Malformed, "Simple has no packets"},
		{"block's rank", func(p *either.Program) { p.Blocks[0].Rank = 7 }, diag.Malformed, "does not hold the steps"},
	} {
		p := push(3, false)
		x.spoil(p)
		_, err := executor.Load(p, executor.Options{Device: Device(), Unproven: true})
		var list diag.List
		if !errors.As(err, &list) || len(list) == 0 || list[0].Code != x.code || !strings.Contains(list[0].Error(), x.text) {
			t.Errorf("%s: got %v, want %s with %q", x.name, err, x.code, x.text)
		}
		if _, err := executor.Load(p, executor.Options{Device: Device()}); err == nil {
			t.Errorf("%s: verify takes it", x.name)
		}
	}
}

// TestOneSidedArgs refuses calls that the loaded memory or program is not for.
func TestOneSidedArgs(t *testing.T) {
	p := push(2, false)
	for _, opt := range []executor.Options{{Replicas: -1}, {Replicas: 1 << 20}, {TileBytes: 8}, {TileBytes: 1 << 40}} {
		opt.Device = Device()
		if _, err := executor.Load(p, opt); err == nil {
			t.Errorf("%+v: no error", opt)
		}
	}
	l := loadOne(t, p, executor.Options{Replicas: 3})
	for name, set := range map[string]func(*executor.Args){
		"replicas": func(a *executor.Args) { a.Replicas = 4 },
		"tile":     func(a *executor.Args) { a.TileBytes = -1 },
		"wait":     func(a *executor.Args) { a.Wait = -1 },
		"threads":  func(a *executor.Args) { a.Threads = -1 },
		"protocol": func(a *executor.Args) { other := ir.LL; a.Protocol = &other },
		"watch":    func(a *executor.Args) { a.Watch = &executor.Watch{} },
		"block":    func(a *executor.Args) { a.PerBlock = 1 << 20 },
	} {
		args := executor.DataArgs(data.New(data.NewGeometry(p.Coll, 100, 4), data.F32, data.Sum, 1))
		set(&args)
		if _, err := l.Run(context.Background(), args); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	check(t, l, p.Coll, data.F32, data.Sum, 100, nil)
}

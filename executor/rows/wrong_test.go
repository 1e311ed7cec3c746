package rows_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"mscclc"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/executor/host"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/epilogue"
	"mscclc/ir/onesided"
)

// list parses a list of stages.
func list(t *testing.T, text string) epilogue.List {
	t.Helper()
	l, err := epilogue.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// program compiles a body for three ranks.
func program(t *testing.T, name, then string) *either.Program {
	t.Helper()
	p, err := compiled(name, list(t, then), 3, 1, ir.Simple, mscclc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// load loads a program that need not be proven.
func load(t *testing.T, p *either.Program) *executor.Loaded {
	t.Helper()
	l, err := executor.Load(p, executor.Options{Device: cpu.Device(), Unproven: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// rows makes the memory of a call of 6 rows of 11 elements.
func rows(p *either.Program) *data.Rows {
	return data.NewRows(data.NewGeometry(p.Coll, 6, 44), p.Then, 11, data.F32, 7)
}

// finishing returns the first step that finishes a sum of two or more sources.
func finishing(t *testing.T, p *onesided.Program) int {
	t.Helper()
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Op == ir.Move && s.NSrc > 1 && slices.ContainsFunc(p.Dests(s), func(o onesided.Operand) bool {
			return o.Buf == ir.Output
		}) {
			return i
		}
	}
	t.Fatal("no step finishes a sum")
	return -1
}

// TestBroken runs broken copies of programs that are right: what is compared shows it.
func TestBroken(t *testing.T) {
	partial := func(p *onesided.Program, at int) {
		p.Operands = slices.Delete(slices.Clone(p.Operands), int(p.Steps[at].Src), int(p.Steps[at].Src)+1)
		p.Steps = slices.Clone(p.Steps)
		p.Steps[at].NSrc--
		p.Steps[at].Dst--
		for i := at + 1; i < len(p.Steps); i++ {
			p.Steps[i].Src, p.Steps[i].Dst = p.Steps[i].Src-1, p.Steps[i].Dst-1
		}
	}
	other := func(p *onesided.Program, at int) {
		p.Operands = slices.Clone(p.Operands)
		p.Operands[p.Steps[at].Src] = p.Operands[p.Steps[at].Src+1]
	}
	for _, name := range names {
		for _, then := range []string{"cast(bf16)", "residual, rms_norm(eps)", "scale, quantise(e4m3)", "activation(gelu)"} {
			for what, fault := range map[string]func(*onesided.Program, int){"": nil, "partial": partial, "other": other} {
				p := program(t, name, then).Copy()
				if fault != nil {
					fault(p.OneSided, finishing(t, p.OneSided))
				}
				d := rows(p)
				if _, err := load(t, p).Run(context.Background(), executor.DataRows(d)); err != nil {
					t.Fatalf("%s, %s: %v", name, what, err)
				}
				if found := d.Check(); (found.Wrong > 0) != (fault != nil) {
					t.Errorf("%s, then %s, %q: %d elements are wrong: %v", name, then, what, found.Wrong, found.Err())
				}
			}
		}
	}
}

// TestTwice: rows that are finished twice, or added up, are refused even where the proof is not asked.
func TestTwice(t *testing.T) {
	faults := map[string]func(p *onesided.Program, at int){
		"again": func(p *onesided.Program, at int) { p.Dests(&p.Steps[at])[0].Index ^= 1 },
		"adds":  func(p *onesided.Program, at int) { p.Sources(&p.Steps[at])[0].Buf = ir.Output },
	}
	for what, fault := range faults {
		p := program(t, "allreduce onestep", "residual, rms_norm(eps)").Copy()
		p.OneSided.Operands = slices.Clone(p.OneSided.Operands)
		fault(p.OneSided, finishing(t, p.OneSided))
		_, err := executor.Load(p, executor.Options{Device: cpu.Device(), Unproven: true})
		var found diag.List
		if !errors.As(err, &found) || found[0].Code != diag.Finished {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestWrongCalls: a call that does not fit its program's epilogue is refused, and says why.
func TestWrongCalls(t *testing.T) {
	p := program(t, "allreduce onestep", "bias, residual, layer_norm(eps), quantise(i8, block = 4)")
	l := load(t, p)
	for _, bad := range []struct {
		say    string
		change func(a *executor.Args)
	}{
		{"the call must say its rows", func(a *executor.Args) { a.Rows = nil }},
		{"not supported", func(a *executor.Args) { a.RedOp = data.Max }},
		{"f16, bf16 or f32, and not of i32", func(a *executor.Args) { a.DType = data.I32 }},
		{"cannot be watched", func(a *executor.Args) { a.Watch = &executor.Watch{} }},
		{"a row of 0 elements", func(a *executor.Args) { a.Rows.Length = 0 }},
		{"4 stages have 3 values", func(a *executor.Args) { a.Rows.Values = a.Rows.Values[:3] }},
		{"memory of 2 ranks, of 3", func(a *executor.Args) { a.Rows.Ranks = a.Rows.Ranks[:2] }},
		{"memory of 1 stages, of 4", func(a *executor.Args) { a.Rows.Ranks[1].First = a.Rows.Ranks[1].First[:1] }},
		{"first operand of bias of rank 0 has 40 bytes, of 44", func(a *executor.Args) { cut(&a.Rows.Ranks[0].First[0], 4) }},
		{"first operand of bias of rank 2 has 0 bytes", func(a *executor.Args) { a.Rows.Ranks[2].First[0] = nil }},
		{"second operand of residual of rank 1 has", func(a *executor.Args) { cut(&a.Rows.Ranks[1].Second[1], 44) }},
		{"second operand of layer_norm of rank 1 has", func(a *executor.Args) { cut(&a.Rows.Ranks[1].Second[2], 44) }},
		{"second operand of quantise of rank 1 has 68 bytes, of 72", func(a *executor.Args) { cut(&a.Rows.Ranks[1].Second[3], 4) }},
		{"not aligned", func(a *executor.Args) {
			a.Rows.Ranks[1].First[0] = make([]byte, 45)[1:]
		}},
		{"output of rank 1 has 65 bytes, of 66", func(a *executor.Args) { cut(&a.Output[1], 1) }},
		{"input of rank 1 has", func(a *executor.Args) { cut(&a.Input[1], 4) }},
		{"out of range", func(a *executor.Args) { a.Elems = 1 << 55 }},
	} {
		args := executor.DataRows(rows(p))
		for i := range args.Rows.Ranks {
			m := &args.Rows.Ranks[i]
			m.First, m.Second = slices.Clone(m.First), slices.Clone(m.Second)
		}
		bad.change(&args)
		if _, err := l.Run(context.Background(), args); err == nil || !strings.Contains(err.Error(), bad.say) {
			t.Errorf("%v, where %q was to be said", err, bad.say)
		}
	}
	plain := p.Copy()
	plain.Then = nil
	args := executor.DataRows(rows(p))
	if _, err := load(t, plain).Run(context.Background(), args); err == nil || !strings.Contains(err.Error(), "no epilogue") {
		t.Errorf("rows of a program without an epilogue: %v", err)
	}
}

func cut(buf *[]byte, bytes int) { *buf = (*buf)[:len(*buf)-bytes] }

// other is a device that runs no epilogue.
type other struct{ executor.Device }

// TestOtherDevices: devices that run no epilogue refuse such programs, and plans of no device finish rows that only
// other ranks get.
func TestOtherDevices(t *testing.T) {
	p := program(t, "allreduce onestep", "cast(bf16)")
	_, err := executor.Load(p, executor.Options{Device: other{cpu.Device()}})
	if !errors.Is(err, executor.ErrNotSupported) {
		t.Errorf("another device: %v", err)
	}
	p = program(t, "reducescatter after", "cast(bf16)")
	_, err = plan.Prepare(context.Background(), p, plan.Options{GPUs: host.New(host.Options{})})
	if !errors.Is(err, executor.ErrNotSupported) {
		t.Errorf("rows that other ranks get: %v", err)
	}
}

package executor

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"mscclc/executor/data"
	"mscclc/executor/proof"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// threeMessages returns a sendrecv of two ranks in one block each, which send three messages
// before they receive any: it lives with three slots, and with two where a
// message holds two chunks.
func threeMessages() *either.Program {
	p := sendrecv()
	p.Sizes.Max = 0
	p.Protocol = ir.LL
	return p
}

func code(err error) diag.Code {
	var list diag.List
	if errors.As(err, &list) && len(list) > 0 {
		return list[0].Code
	}
	return ""
}

// What a call asks for beyond the proof of Load is proven, or refused.
func TestRunProvesWhatIsAsked(t *testing.T) {
	p := threeMessages()
	l, err := Load(p, Options{Device: &nullDevice{}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []proof.Demand{{Protocol: ir.LL, Slots: 8, Chunks: 1}}; !reflect.DeepEqual(l.of.Proof.Proven(), want) {
		t.Fatalf("Load proves %v, not %v", l.of.Proof.Proven(), want)
	}
	run := func(elems int64, set func(*Args)) error {
		args := DataArgs(data.New(data.NewGeometry(p.Coll, elems, 4), data.F32, data.Sum, 1))
		set(&args)
		_, err := l.Run(context.Background(), args)
		return err
	}
	simple := ir.Simple
	steps := []struct {
		name   string
		elems  int64
		set    func(*Args)
		code   diag.Code
		proofs int // that are remembered afterwards
	}{
		{"as it is", 3000, func(*Args) {}, "", 1},
		{"more slots", 3000, func(a *Args) { a.Slots = 9 }, "", 1},
		{"large slots", 3000, func(a *Args) { a.SlotBytes = 1 << 20 }, "", 1},
		{"four slots", 3000, func(a *Args) { a.Slots, a.SlotBytes = 4, 16 }, "", 2},
		{"four slots again", 6000, func(a *Args) { a.Slots, a.SlotBytes = 4, 16 }, "", 2},
		{"two slots", 3000, func(a *Args) { a.Slots, a.SlotBytes = 2, 16 }, diag.Deadlock, 2},
		{"two slots of two chunks", 12, func(a *Args) { a.Slots, a.SlotBytes = 2, 32 }, "", 3},
		{"Simple with two slots", 3 << 20, func(a *Args) { a.Protocol, a.SlotBytes = &simple, 16 }, diag.Deadlock, 3},
		{"Simple with large slots", 3 << 10, func(a *Args) { a.Protocol = &simple }, "", 3},
	}
	for _, s := range steps {
		args := Args{Elems: s.elems, DType: data.F32}
		s.set(&args)
		err := l.Prove(args)
		if again := run(s.elems, s.set); code(again) != code(err) {
			t.Errorf("%s: Prove says %v, and Run %v", s.name, err, again)
		}
		if code(err) != s.code || (err == nil) != (s.code == "") {
			t.Errorf("%s: %v, want %q", s.name, err, s.code)
		}
		var list diag.List
		if errors.As(err, &list) && !strings.Contains(list[0].Hint, "this call has") {
			t.Errorf("%s: no hint at what the call has: %q", s.name, list[0].Hint)
		}
		if len(l.of.Proof.Proven()) != s.proofs {
			t.Errorf("%s: %v are proven, not %d", s.name, l.of.Proof.Proven(), s.proofs)
		}
	}

	if l, err = Load(p, Options{Device: &nullDevice{}, Unproven: true}); err != nil {
		t.Fatal(err)
	}
	if err := run(3000, func(a *Args) { a.Slots, a.SlotBytes = 2, 16 }); err != nil {
		t.Errorf("unproven: %v", err)
	}
	if _, err := Load(p, Options{Device: &nullDevice{}, Check: verify.Options{Slots: 2}}); code(err) != diag.Deadlock {
		t.Errorf("two slots at Load: %v", err)
	}
	if _, err := Load(p, Options{Device: &nullDevice{}, Check: verify.Options{Moves: 2}}); code(err) != diag.Limit {
		t.Errorf("two moves: %v", err)
	}
}

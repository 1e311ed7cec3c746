package executor

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// crowd is a sendrecv of two ranks in one block each, which send three messages
// before they receive any: it lives with three slots, and with two where a
// message holds two chunks.
func crowd() *ir.Program {
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
	p := crowd()
	l, err := Load(p, Options{Device: &nullDevice{}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []demand{{ir.LL, 8, 1}}; !reflect.DeepEqual(l.prover.proven, want) {
		t.Fatalf("Load proves %v, not %v", l.prover.proven, want)
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
		if len(l.prover.proven) != s.proofs {
			t.Errorf("%s: %v are proven, not %d", s.name, l.prover.proven, s.proofs)
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

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		had, want demand
		covers    bool
	}{
		{demand{ir.LL, 8, 1}, demand{ir.LL, 8, 1}, true},
		{demand{ir.LL, 8, 1}, demand{ir.LL, 9, 71}, true},
		{demand{ir.LL, 8, 1}, demand{ir.LL, 7, 71}, false},
		{demand{ir.LL, 8, 2}, demand{ir.LL, 8, 1}, false},
		{demand{ir.LL, 2, 1}, demand{ir.Simple, 2, 1}, true},
		{demand{ir.Simple, 2, 1}, demand{ir.LL, 8, 1}, false},
	} {
		if c.had.covers(c.want) != c.covers {
			t.Errorf("%v covers %v is %v", c.had, c.want, !c.covers)
		}
	}
}

// Every field of a program but names and positions changes its key.
func TestKeyHashesEveryField(t *testing.T) {
	make := func() *ir.Program {
		p := sendrecv()
		p.Coll.PerRank = [][2]int32{{3, 3}, {3, 3}}
		p.Coll.Require = map[ir.Part][]ir.Part{{Rank: 1}: {{Rank: 1, Index: 2}}, {Rank: 0, Index: 1}: {{}, {}}}
		p.Spans = []diag.Span{{}}
		p.OneSided = &ir.OneSided{Operands: make([]ir.Operand, 2), Packets: []int32{1, 2}, Flags: []int32{3}}
		return p
	}
	base := keyOf(make(), verify.Options{}, key{})
	if keyOf(make(), verify.Options{}, key{}) != base {
		t.Fatal("a program has two keys")
	}
	free := map[string]bool{".Header.Name": true, ".Header.Spans": true, ".Steps.Pos": true}
	seen, same := 0, map[string]bool{}
	var visit func(path string, v reflect.Value, p *ir.Program)
	visit = func(path string, v reflect.Value, p *ir.Program) {
		changed := func(set func()) {
			old := reflect.New(v.Type()).Elem()
			old.Set(v)
			set()
			seen++
			if keyOf(p, verify.Options{}, key{}) == base {
				same[path] = true
				if !free[path] {
					t.Errorf("%s does not change the key", path)
				}
			}
			v.Set(old)
		}
		switch v.Kind() {
		case reflect.Pointer:
			visit(path, v.Elem(), p)
		case reflect.Struct:
			for i := range v.NumField() {
				visit(path+"."+v.Type().Field(i).Name, v.Field(i), p)
			}
		case reflect.Slice:
			changed(func() { v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem()))) })
			if v.Len() > 0 && path != ".Header.Spans" {
				visit(path, v.Index(v.Len()-1), p)
			}
		case reflect.Array:
			visit(path, v.Index(1), p)
		case reflect.Map:
			changed(func() {
				v.Set(reflect.ValueOf(map[ir.Part][]ir.Part{{Rank: 1}: {{Rank: 1, Index: 2}}, {Rank: 0, Index: 1}: {{}}}))
			})
		case reflect.Bool:
			changed(func() { v.SetBool(!v.Bool()) })
		case reflect.String:
			changed(func() { v.SetString("other") })
		case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
			changed(func() { v.SetInt(v.Int() + 1) })
		case reflect.Uint8:
			changed(func() { v.SetUint(v.Uint() + 1) })
		default:
			t.Errorf("%s is a %s, which the test does not know", path, v.Kind())
		}
	}
	p := make()
	visit("", reflect.ValueOf(p), p)
	if seen < 50 || len(same) != len(free) {
		t.Errorf("%d fields were changed, and %v are free", seen, same)
	}
	if keyOf(make(), verify.Options{Slots: 3}, key{}) == base || keyOf(make(), verify.Options{}, key{1}) == base {
		t.Error("options or prover do not change the key")
	}
}

// A program of many steps is proven once, and found by the next to load it.
func TestLoadFindsProofs(t *testing.T) {
	c, dir := testCache(t)
	old := proofs
	proofs = func() *proofCache { return c }
	defer func() { proofs = old }()
	p := long(cachedFrom)
	for i := range 2 {
		begin := time.Now()
		l, err := Load(p, Options{Device: &nullDevice{}})
		if err != nil {
			t.Fatal(err)
		}
		if want := []demand{{ir.Simple, 2, 1}}; !reflect.DeepEqual(l.prover.proven, want) {
			t.Errorf("load %d: %v", i, l.prover.proven)
		}
		t.Logf("load %d: %v", i, time.Since(begin))
		l.Close()
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d proofs are kept", len(files))
	}
	p.Steps[7].Dst, p.Steps[7].Src = 1, 0 // the copy back goes elsewhere: output 0 stays as it was
	p.Steps[len(p.Steps)-1].SrcBuf = ir.Input
	if _, err := Load(p, Options{Device: &nullDevice{}}); err == nil {
		t.Error("a changed program is proven")
	}
}

// long is a program of n steps on one rank, which copy an input to the output
// and about in scratch.
func long(n int) *ir.Program {
	p := &ir.Program{Header: ir.Header{Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 2}}, Scratch: []int32{2}, Channels: 1,
		Rank: []ir.Range{{First: 0, End: 1}}, Blocks: []ir.TB{{Block: ir.Block{SendPeer: -1, RecvPeer: -1}, Steps: ir.Range{First: 0, End: int32(n)}}}}
	for i := range n {
		chunk := int32(i % 2)
		p.Steps = append(p.Steps, ir.Step{Op: ir.Copy, SrcBuf: ir.Input, DstBuf: ir.Output, Src: chunk, Dst: chunk, Class: chunk, Count: 1, DepBlock: -1, DepStep: -1, Pos: -1})
	}
	return p
}

func BenchmarkKey(b *testing.B) {
	p := long(2_000_000)
	for b.Loop() {
		keyOf(p, verify.Options{}, key{})
	}
}

func BenchmarkProof(b *testing.B) {
	p := long(2_000_000)
	for b.Loop() {
		verify.Check(p, verify.Options{})
	}
}

func BenchmarkBinaryHash(b *testing.B) {
	for b.Loop() {
		if _, err := binaryHash(); err != nil {
			b.Fatal(err)
		}
	}
}

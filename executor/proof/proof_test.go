package proof

import (
	"os"
	"reflect"
	"testing"
	"time"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
)

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		had, want Demand
		covers    bool
	}{
		{Demand{ir.LL, 8, 1}, Demand{ir.LL, 8, 1}, true},
		{Demand{ir.LL, 8, 1}, Demand{ir.LL, 9, 71}, true},
		{Demand{ir.LL, 8, 1}, Demand{ir.LL, 7, 71}, false},
		{Demand{ir.LL, 8, 2}, Demand{ir.LL, 8, 1}, false},
		{Demand{ir.LL, 2, 1}, Demand{ir.Simple, 2, 1}, true},
		{Demand{ir.Simple, 2, 1}, Demand{ir.LL, 8, 1}, false},
	} {
		if c.had.covers(c.want) != c.covers {
			t.Errorf("%v covers %v is %v", c.had, c.want, !c.covers)
		}
	}
}

// Every field of a program but names and positions changes its key.
func TestKeyHashesEveryField(t *testing.T) {
	tables := func() *either.Program {
		p := long(2)
		p.Coll.Peer = []int32{0}
		p.Coll.PerRank = [][2]int32{{3, 3}, {3, 3}}
		p.Coll.Require = map[ir.Part][]ir.Part{{Rank: 1}: {{Rank: 1, Index: 2}}, {Rank: 0, Index: 1}: {{}, {}}}
		p.Spans = []diag.Span{{}}
		return p
	}
	t.Run("two-sided", func(t *testing.T) {
		keyHashesEveryField(t, tables, func(p *either.Program) any { return p.Fifo })
	})
	oneSided := func() *either.Program {
		return either.OfOneSided(&onesided.Program{Program: *tables().Program, Operands: make([]onesided.Operand, 2),
			Packets: []int32{1, 2}, Flags: []int32{3}})
	}
	t.Run("one-sided", func(t *testing.T) {
		keyHashesEveryField(t, oneSided, func(p *either.Program) any { return p.OneSided })
	})
}

// keyHashesEveryField changes every field of what of returns of a program that make makes.
func keyHashesEveryField(t *testing.T, make func() *either.Program, of func(*either.Program) any) {
	base := keyOf(make(), verify.Options{}, key{})
	if keyOf(make(), verify.Options{}, key{}) != base {
		t.Fatal("a program has two keys")
	}
	free := map[string]bool{".Program.Header.Name": true, ".Program.Header.Spans": true, ".Program.Steps.Pos": true,
		".Program.Source": true}
	for _, field := range []string{"Pos.Filename", "Pos.Offset", "Pos.Line", "Pos.Column", "Len"} {
		free[".Program.Header.Declaration."+field] = true
	}
	seen, same := 0, map[string]bool{}
	var visit func(path string, v reflect.Value, p *either.Program)
	visit = func(path string, v reflect.Value, p *either.Program) {
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
			if v.Len() > 0 && path != ".Program.Header.Spans" {
				visit(path, v.Index(v.Len()-1), p)
			}
		case reflect.Array:
			visit(path, v.Index(1), p)
		case reflect.Map:
			changed(func() {
				v.Set(reflect.ValueOf(map[ir.Part][]ir.Part{{Rank: 1}: {{Rank: 1, Index: 2}}, {Rank: 0, Index: 1}: {{}}}))
			})
		case reflect.Interface:
			changed(func() { v.Set(reflect.ValueOf(struct{ ir.Source }{})) })
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
	visit("", reflect.ValueOf(of(p)), p)
	if seen < 50 || len(same) != len(free) {
		t.Errorf("%d fields were changed, and %v are free", seen, same)
	}
	if keyOf(make(), verify.Options{Slots: 3}, key{}) == base || keyOf(make(), verify.Options{}, key{1}) == base {
		t.Error("options or prover do not change the key")
	}
}

// A program of many steps is proven once, and found by the next who asks.
func TestProveFindsProofs(t *testing.T) {
	c, dir := testCache(t)
	p := long(cachedFrom)
	prover := func() *Prover { return &Prover{p: p, cache: func() *cache { return c }} }
	for i := range 2 {
		begin := time.Now()
		v := prover()
		if err := v.Prove(); err != nil {
			t.Fatal(err)
		}
		if want := []Demand{{ir.Simple, 2, 1}}; !reflect.DeepEqual(v.Proven(), want) {
			t.Errorf("proof %d: %v", i, v.Proven())
		}
		t.Logf("proof %d: %v", i, time.Since(begin))
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d proofs are kept", len(files))
	}
	p.Steps[7].Dst, p.Steps[7].Src = 1, 0 // the copy back goes elsewhere: output 0 stays as it was
	p.Steps[len(p.Steps)-1].SrcBuf = ir.Input
	if err := prover().Prove(); err == nil {
		t.Error("a changed program is proven")
	}
}

// long returns a program of n steps on one rank, which copy an input to the output
// and about in scratch.
func long(n int) *either.Program {
	p := either.OfFifo(&fifo.Program{Program: ir.Program{
		Header:  ir.Header{Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 2}},
		Scratch: []int32{2},
		Rank:    []ir.Range{{First: 0, End: 1}},
		Blocks:  []ir.TB{{Block: ir.Block{SendPeer: -1, RecvPeer: -1}, Steps: ir.Range{First: 0, End: int32(n)}}}},
		Channels: 1})
	for i := range n {
		chunk := int32(i % 2)
		p.Steps = append(p.Steps, ir.Step{Op: ir.Copy, SrcBuf: ir.Input, DstBuf: ir.Output, Src: chunk, Dst: chunk,
			Class: chunk, Count: 1, DepBlock: -1, DepStep: -1, Pos: -1})
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

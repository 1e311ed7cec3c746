package bundle

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// directRules are rules of direct programs for calls between windows, before some of a ladder.
func directRules(ranks int) (list []Rule) {
	for _, r := range Ladder(ranks, 16) {
		if !r.Kind.Rooted() {
			r.Placement, r.When = selection.Direct, r.When|WhenWindows
			list = append(list, r)
		}
	}
	return append(list, slices.DeleteFunc(Ladder(ranks, 8), func(r Rule) bool {
		return r.Kind != ir.AllGather && r.Kind != ir.Broadcast
	})...)
}

// direct returns a bundle of rules for calls between windows, and of others.
func direct(t testing.TB, ranks ...int) *Bundle {
	t.Helper()
	spec := Spec{Device: "NVIDIA H200", Ranks: ranks, DTypes: []data.DType{data.F32, data.BF16}}
	for _, n := range ranks {
		spec.Rules = append(spec.Rules, directRules(n)...)
	}
	b, err := Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// findDirect returns the first direct program of a collective in a protocol.
func findDirect(b *Bundle, kind ir.Kind, protocol ir.Protocol) *Program {
	i := slices.IndexFunc(b.Programs, func(p *Program) bool {
		return p.Kind == uint32(kind) && p.Protocol == uint32(protocol) && p.Direct != 0
	})
	return b.Programs[i]
}

// TestDirect reads and proves bundles with direct programs. Some of them reach buffers of other ranks.
func TestDirect(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		b := direct(t, n)
		text := Encode(b)
		got, _, err := Verify("x.bundle", text)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(Encode(got), text) {
			t.Errorf("%d ranks: read other things than written", n)
		}
		for _, kind := range []ir.Kind{ir.AllReduce, ir.AllGather, ir.AllToAll} {
			p := findDirect(got, kind, ir.Simple)
			if !reaches(p) || !strings.HasSuffix(p.Title(), " Simple direct") {
				t.Errorf("%d ranks: %s reaches no buffers of others", n, p.Title())
			}
		}
	}
}

// reaches reports whether a step of p reaches input or output of another rank.
func reaches(p *Program) bool {
	for rank, part := range p.Parts {
		for _, o := range part.Operands {
			if int(o.Rank) != rank && ir.Buf(o.Buf) <= ir.Output {
				return true
			}
		}
	}
	return false
}

// directFaults are single faults in a bundle with direct programs, with a part of what Verify says.
var directFaults = []struct {
	name, want string
	spoil      func(b *Bundle)
}{
	{"a direct program as a staged one", "and the program is staged", func(b *Bundle) {
		findDirect(b, ir.AllGather, ir.Simple).Direct = 0
	}},
	{"a staged program as a direct one", "it is not for windows", func(b *Bundle) {
		_, p := find(b, ir.AllGather, ir.LL)
		for _, q := range b.Programs {
			if q.Kind == uint32(ir.AllGather) && q.Direct == 0 {
				p = q
			}
		}
		p.Direct = 1
	}},
	{"a rule for any buffers", "it is not for windows", func(b *Bundle) { b.Sets[0].Rules[0].When &^= WhenWindows }},
	{"windows and a root", "may leave out buffers", func(b *Bundle) {
		i := slices.IndexFunc(b.Sets[0].Rules, func(r RuleRow) bool { return r.Kind == uint8(ir.Broadcast) })
		b.Sets[0].Rules[i].When |= WhenWindows
	}},
	{"a direct program with a root", "it reaches buffers of other ranks, and has a root", func(b *Bundle) {
		_, p := find(b, ir.Broadcast, ir.LL)
		p.Direct = 1
	}},
	{"a switch", "is not 0 or 1", func(b *Bundle) { findDirect(b, ir.AllGather, ir.LL).Direct = 2 }},
	{"a buffer of another rank", "its tables are not", func(b *Bundle) {
		p := findDirect(b, ir.AllGather, ir.Simple)
		for i, o := range p.Parts[0].Operands {
			if o.Rank != 0 && ir.Buf(o.Buf) == ir.Output {
				p.Parts[0].Operands[i].Rank = 2
				return
			}
		}
	}},
	{"a program file", "its program file", func(b *Bundle) {
		_, p := find(b, ir.AllGather, ir.Simple)
		for _, q := range b.Programs {
			if q.Kind == uint32(ir.AllGather) && q.Protocol == uint32(ir.Simple) && q.Direct == 0 {
				p.Source = q.Source
			}
		}
	}},
}

// TestDirectFaults holds that Verify finds single faults of direct programs.
func TestDirectFaults(t *testing.T) {
	good := Encode(direct(t, 4))
	for _, f := range directFaults {
		b, err := Decode("x", bytes.Clone(good))
		if err != nil {
			t.Fatal(err)
		}
		f.spoil(b)
		_, _, err = Verify("x.bundle", Encode(b))
		var list diag.List
		if !errors.As(err, &list) || !strings.Contains(list.Error(), f.want) {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

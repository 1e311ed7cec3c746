package form_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mscclc/codegen/codegentest"
	"mscclc/codegen/program"
	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/form"
	"mscclc/ir/verify"
)

// doors are the ways that a program takes into mscclc. Each must say what form says of a broken one.
var doors = []struct {
	name string
	only bool // it judges nothing but the form
	open func(p *either.Program) error
}{
	{"verify", false, func(p *either.Program) error {
		_, found := verify.Check(p, verify.Options{})
		return found.Err()
	}},
	{"program file", true, func(p *either.Program) error { return program.Write(io.Discard, p) }},
	{"executor", true, func(p *either.Program) error {
		_, err := executor.Load(p, executor.Options{Device: none{}, Unproven: true})
		return err
	}},
	{"program file as JSON", true, func(p *either.Program) error { return program.WriteJSON(io.Discard, p) }},
}

// none is a device on which nothing runs.
type none struct{}

func (none) Name() string                               { return "none" }
func (none) Open(*abi.Image) (executor.Instance, error) { return nil, nil }

// TestRules breaks each rule by itself, and looks at the broken program through every door.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name  string
		good  func() *either.Program
		rules []rule
	}{
		{"two-sided", pairs, tableRules}, {"one-sided", codegentest.Swap, tableRules},
		{"two-sided", pairs, twoSidedRules}, {"one-sided", codegentest.Swap, oneSidedRules},
	} {
		if found := form.Check(c.good(), form.Unbounded); len(found) > 0 {
			t.Fatalf("a good %s program: %v", c.name, found)
		}
		for _, r := range c.rules {
			p := c.good()
			r.edit(p)
			found := form.Check(p, form.Unbounded)
			if len(found) == 0 || found[0].Code != r.code || !strings.Contains(found[0].Text, r.text) {
				t.Errorf("%s, %s: %v, want [%s] with %q", c.name, r.name, found, r.code, r.text)
				continue
			}
			for _, d := range doors {
				var got diag.List
				if !errors.As(d.open(p), &got) {
					t.Errorf("%s, %s: %s takes it", c.name, r.name, d.name)
				} else if diff := cmp.Diff(found, got); diff != "" {
					t.Errorf("%s, %s: %s says something else: %s", c.name, r.name, d.name, diff)
				}
			}
		}
	}
}

// TestBounds: a program asks for no more than its reader allows.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		p             *either.Program
		cells, memory int64
	}{
		{pairs(), 6, 6},              // of each rank in, out and scratch
		{codegentest.Swap(), 11, 23}, // in, out and scratch; one copy more of scratch, two of packets, and 3 flags
	} {
		most := form.Bounds{Cells: c.cells, Memory: c.memory, Moved: 1 << 20}
		if found := form.Check(c.p, most); len(found) > 0 {
			t.Error(found)
		}
		for _, less := range []form.Bounds{{Cells: c.cells - 1, Memory: c.memory, Moved: 1 << 20},
			{Cells: c.cells, Memory: c.memory - 1, Moved: 1 << 20}} {
			if found := form.Check(c.p, less); len(found) != 1 || found[0].Code != diag.Limit ||
				!strings.HasPrefix(found[0].Hint, "--limit cells=") {
				t.Errorf("%+v is less than there is: %v", less, found)
			}
		}
	}
	for n := int64(1); ; n++ {
		found := form.Check(pairs(), form.Bounds{Cells: 6, Memory: 6, Moved: n})
		if len(found) == 0 {
			if n != 8 {
				t.Errorf("%d moves are allowed", n)
			}
			break
		}
		if found[0].Code != diag.Limit || !strings.HasPrefix(found[0].Text, "the steps move 8 chunks in all") {
			t.Fatal(found)
		}
	}
}

// TestFaultsAreFew: a program of many faults gets a list that ends.
func TestFaultsAreFew(t *testing.T) {
	p := codegentest.Large(1, 1000)
	for i := range p.Steps {
		p.Steps[i].Op = ir.NumOps
	}
	if found := form.Check(p, form.Unbounded); len(found) != 101 ||
		!strings.HasPrefix(found[100].Text, "900 more problems") {
		t.Errorf("%d messages, the last is %v", len(found), found[len(found)-1])
	}
}

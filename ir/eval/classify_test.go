package eval

import (
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/text"
)

// finals lists the steps that MarkFinal marks, as block.step of each rank.
func finals(t *testing.T, p *either.Program) string {
	t.Helper()
	if err := MarkFinal(p); err != nil {
		return err.Error()
	}
	var b strings.Builder
	if err := text.WriteProgram(&b, p); err != nil {
		t.Fatal(err)
	}
	var list []string
	block := ""
	for _, line := range strings.Split(b.String(), "\n") {
		f := strings.Fields(line)
		if len(f) > 1 && f[0] == "block" {
			block = f[1]
		}
		if strings.Contains(line, " final") {
			list = append(list, block+"."+f[0])
		}
	}
	return strings.Join(list, " ")
}

// Programs whose sums are made step by step: from a scratch in place, and by what is received and sent on.
const (
	chain = `program chain
collective allreduce ranks=3 chunks=1 inplace
scratch 0,2,0
block 0.0 send 1 recv 1 ch 0
  0 s input[0]
  1 r input[0]
block 1.0 send 0 recv 0 ch 0
  0 r scratch[0] hasdep
  1 s input[0] dep 2.1
block 1.1 send 2 recv 2 ch 0
  0 r scratch[1] hasdep
  1 s input[0] dep 2.1
block 1.2 ch 0
  0 re scratch[0] => input[0] dep 0.0
  1 re scratch[1] => input[0] dep 1.0 hasdep
block 2.0 send 1 recv 1 ch 0
  0 s input[0]
  1 r input[0]
`
	fused = `program fused
collective reduce ranks=3 chunks=2 root=2
block 0.0 send 1 ch 0
  0 s input[0]*2
block 1.0 send 2 recv 0 ch 0
  0 rrs input[0]*2
block 2.0 recv 1 ch 0
  0 rrc input[0] => output[0]*2
`
)

func TestMarkFinal(t *testing.T) {
	p := irtest.Program(t, chain)
	p.Steps[0].Flags |= ir.Final // a flag that is wrong goes
	if got := finals(t, p); got != "1.2.1" {
		t.Errorf("chain: %s", got)
	}
	if got := finals(t, irtest.Program(t, fused)); got != "2.0.0" {
		t.Errorf("fused: %s", got)
	}
	mixed := strings.Replace(fused, "rrs input[0]*2", "rrs input[0]*1\n  1 r scratch[0]\n  2 s input[1]", 1)
	mixed = strings.Replace(strings.Replace(mixed, "root=2\n", "root=2\nscratch 1\n", 1), "s input[0]*2",
		"s input[0]\n  1 s input[1]", 1)
	mixed = strings.Replace(mixed, "0 rrc input[0] => output[0]*2",
		"0 r scratch[0]\n  1 r output[1]\n  2 cpy scratch[0] => output[0]\n  3 re input[0] => output[0]*2", 1)
	if got := finals(t, irtest.Program(t, mixed)); !strings.Contains(got, "completes the sum of 1 of them only") {
		t.Errorf("mixed: %s", got)
	}
	nested := `program nested
collective custom ranks=3 chunks=2 in=1 out=2
require 2 output[0] = 0 input[0] + 1 input[0]
require 2 output[1] = 0 input[0] + 1 input[0] + 2 input[0]
block 0.0 send 1 ch 0
  0 s input[0]
block 1.0 send 2 recv 0 ch 0
  0 rrs input[0]
block 2.0 recv 1 ch 0
  0 r output[0]
  1 cpy output[0] => output[1]
  2 re input[0] => output[1]
`
	if got := finals(t, irtest.Program(t, nested)); !strings.Contains(got, "one sum of the result is part of another") {
		t.Errorf("nested: %s", got)
	}
	apart := strings.Replace(nested, "require 2 output[1] = 0 input[0] + 1 input[0] + 2 input[0]\n", "", 1)
	if got := finals(t, irtest.Program(t, apart)); got != "1.0.0" {
		t.Errorf("apart: %s", got)
	}
	if got := finals(t, irtest.Program(t,
		"program none\ncollective allgather ranks=1 chunks=1\nblock 0.0 ch 0\n  0 cpy input[0] => output[0]\n")); got != "" {
		t.Errorf("none: %s", got)
	}
	for _, bad := range []string{"block 1.0 send 0 ch 0\n  0 s input[0]",
		"block 1.0 recv 0 ch 0\n  0 r input[0]\nblock 1.1 ch 0\n  0 re input[0] dep 1.0 hasdep"} {
		p := irtest.Program(t, "program bad\ncollective allreduce ranks=2 chunks=1\nblock 0.0 send 1 ch 0\n  0 s input[0]\n"+bad+"\n")
		if err := MarkFinal(p); err == nil {
			t.Error("a program that does not run has complete sums")
		}
		if err := Classify(p.Fifo); err == nil || !p.Even {
			t.Error("a program that does not run is classified")
		}
	}
}

func TestClassify(t *testing.T) {
	const text = `program classes
collective allgather ranks=2 chunks=3
scratch 4
even
block 0.0 send 1 ch 0
  0 cpy input[1] => scratch[2]*2
  1 s scratch[2] class 0
  2 s scratch[3]
block 1.0 recv 0 ch 0
  0 r scratch[0]
  1 r output[2]
`
	p := irtest.Program(t, text)
	if err := Classify(p.Fifo); err != nil || p.Even {
		t.Fatalf("%v, even %v", err, p.Even)
	}
	var got []int32
	for _, s := range p.Steps {
		got = append(got, s.Class)
	}
	if want := []int32{1, 1, 2, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("classes %v, want %v", got, want)
	}
	for _, edit := range [][2]string{
		{"r output[2]", "r output[1]"},                                        // class 2 into class 1
		{"cpy input[1] => scratch[2]*2", "cpy input[1] => output[2]*2"},       // classes 1, 2 into 2, 0
		{"2 s scratch[3]", "2 re scratch[2] => scratch[3]\n  3 s scratch[3]"}, // a sum of classes 1 and 2
	} {
		p := irtest.Program(t, strings.Replace(text, edit[0], edit[1], 1))
		if err := Classify(p.Fifo); err != nil || !p.Even {
			t.Errorf("%s: %v, even %v", edit[1], err, p.Even)
		}
	}
}

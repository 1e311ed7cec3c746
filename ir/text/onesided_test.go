package text_test

import (
	"io"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/ir/irtest/parse"
	"mscclc/ir/onesided"
	"mscclc/ir/text"

	"github.com/google/go-cmp/cmp"
)

func TestOneSidedText(t *testing.T) {
	want := `program pair
collective allreduce ranks=2 chunks=4 inplace
protocol LL
scratch 2
onesided depth 2 onepass
packets 4
flags 3,1
block 0.0
  0 mv input[2]@port -> 1:packets[0]@port pos 0
  1 mv input[0] -> 1:packets[1]*2 scratch[0]*2 joint class 2
  2 mv input[0] + packets[1] + 1:scratch[0] -> output[0] 1:output[0] final
  3 mv all:input[3]@switch -> all:output[3]@switch final
  4 signal 1:flags[0] flags[1] leave
  5 wait flags[0] x1 flags[2] x-1 joint leave relaxed
block 1.0
  0 wait flags[0] x2
  1 mv input[1] -> output[1] class 3
`
	p, err := parse.Program("x", []byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if got := irtest.Written(t, func(w io.Writer) error { return text.WriteProgram(w, p) }); got != want {
		t.Errorf("got\n%s", got)
	}
	o := p.OneSided
	if diff := cmp.Diff([]onesided.Operand{{Rank: 0, Buf: ir.Flags, Index: 0, Nth: 1},
		{Rank: 0, Buf: ir.Flags, Index: 2, Nth: -1}}, o.Sources(&p.Steps[5])); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]onesided.Operand{{Rank: ir.AllRanks, Buf: ir.Output, Index: 3, Via: ir.ViaSwitch}},
		o.Dests(&p.Steps[3])); diff != "" {
		t.Error(diff)
	}
}

func TestOneSidedTextErrors(t *testing.T) {
	const head = "program a\ncollective allreduce ranks=2 chunks=2\n"
	for _, x := range []struct{ text, want string }{
		{"block 0.0\nonesided depth 2", "before all blocks"},
		{"onesided depth 0", "no number from 1 up"},
		{"onesided depth 1\nonesided depth 1", "stands once"},
		{"packets 3", "only a program that says onesided has packets"},
		{"onesided depth 1\nflags 1,2,3", "flags has 3 numbers for 2 ranks"},
		{"onesided depth 1\npackets 1000000000", "more than 67108864 chunks"},
		{"block 0.0\n  0 mv input[0] -> output[0]", `"mv" is an operation of one-sided programs`},
		{"onesided depth 1\nblock 0.0\n  0 cpy input[0] => output[0]", `"cpy" is an operation of two-sided programs`},
		{"onesided depth 1\nblock 0.0\n  0 mv input[0]*2 -> output[0]", "the count stands at the destination"},
		{"onesided depth 1\nblock 0.0\n  0 mv input[0] -> output[0] 1:output[0]*2", "all destinations have one count"},
		{"onesided depth 1\nblock 0.0\n  0 mv input[0] -> output[0]@air", `"air" is no way`},
		{"onesided depth 1\nblock 0.0\n  0 mv input[0] -> -1:output[0]", "no number from 0 up"},
		{"onesided depth 1\nblock 0.0\n  0 signal 1:flags[0]*2", "a flag has no count"},
		{"onesided depth 1\nblock 0.0\n  0 wait flags[0] xy", `"y" is no number`},
		{"onesided depth 1\nblock 0.0\n  0 mv input[0] input[1] -> output[0]", `"input[1]" is no field of a step`},
		{"onesided depth 1\nblock 0.0\n  0 signal" + strings.Repeat(" flags[0]", onesided.MaxOperands+1), "at most 32767"},
	} {
		_, err := parse.Program("test", []byte(head+x.text))
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%.200q: %v, want %s", x.text, err, x.want)
		}
	}
}

package eval

import (
	"fmt"
	"strings"
	"testing"

	"mscclc/ir/either"
	"mscclc/ir/irtest"
)

// fresh lists the fresh operands of p: steps with src or with, or rows of operands.
func fresh(t *testing.T, p *either.Program) string {
	t.Helper()
	f, err := FreshOperands(p)
	if err != nil {
		return err.Error()
	}
	var list []string
	for i := range f.Src {
		for k, is := range []bool{f.Src[i], f.With[i]} {
			if is {
				list = append(list, fmt.Sprint(i, []string{" src", " with"}[k]))
			}
		}
	}
	for i, is := range f.Operands {
		if is {
			list = append(list, fmt.Sprint(i))
		}
	}
	return strings.Join(list, ", ")
}

func TestFreshOperands(t *testing.T) {
	for _, c := range []struct{ name, program, want string }{
		{"an input that is copied to scratch first, and then a sum that is forwarded", `program copied
collective reduce ranks=3 chunks=1 root=2
scratch 0,1,1
block 0.0 send 1 ch 0
  0 s input[0]
block 1.0 send 2 recv 0 ch 0
  0 r scratch[0]
  1 re input[0] => scratch[0]
  2 s scratch[0]
block 2.0 recv 1 ch 0
  0 r output[0]
  1 re input[0] => output[0]
`, "2 src, 2 with, 5 src"},
		{"what is received is a sum of two", fused, "1 src, 1 with, 2 src"},
		{"the input lies in the output, which first holds an input and then a sum", chain, "6 src, 6 with, 7 src"},
		{"one operand has both", `program mixed
collective reduce ranks=3 chunks=2 root=2
scratch 0,0,2
block 0.0 send 2 ch 0
  0 s input[0]*2
block 1.0 send 2 ch 0
  0 s input[0]*2
block 2.0 recv 0 ch 0
  0 r scratch[0]*2 hasdep
block 2.1 recv 1 ch 0
  0 r output[0]*2
  1 re scratch[0] => output[0] dep 0.0
  2 re input[0] => output[0]*2
`, "a step adds inputs and partial sums by one operand, so that avg cannot scale the inputs alone [unsupported]"},
	} {
		if got := fresh(t, irtest.Program(t, c.program)); !strings.HasSuffix(got, c.want) || c.want == "" {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if _, err := FreshOperands(irtest.Program(t, `program stuck
collective allreduce ranks=2 chunks=1
block 0.0 send 1 ch 0
  0 s input[0]
block 1.0 send 0 ch 0
  0 s input[0]
`)); err == nil {
		t.Error("a program that does not run has fresh operands")
	}
}

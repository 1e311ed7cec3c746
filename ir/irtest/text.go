package irtest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest/parse"
)

// Insts parses the text form of instructions, and ends the test where it cannot.
func Insts(t testing.TB, text string) *ir.InstDAG {
	t.Helper()
	return parsed(t, parse.Insts, text)
}

// Program parses the text form of a program, and ends the test where it cannot.
func Program(t testing.TB, text string) *either.Program {
	t.Helper()
	return parsed(t, parse.Program, text)
}

func parsed[T any](t testing.TB, parse func(string, []byte) (T, error), text string) T {
	t.Helper()
	v, err := parse("test", []byte(text))
	if err != nil {
		var b bytes.Buffer
		diag.Fprint(&b, err.(diag.List), func(string) []byte { return []byte(text) }, false)
		t.Fatalf("%s", b.String())
	}
	return v
}

// Written returns what write writes.
func Written(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TwoRanks is a one-step allreduce of two ranks by way of scratch, placed,
// ordered and synced, in two blocks a rank: what tests of properties break.
const TwoRanks = `insts two
collective allreduce ranks=2 chunks=1 inplace
scratch 1
block 0 rank 0 send 1 recv 1 ch 0
block 1 rank 0 ch 0
block 2 rank 1 send 0 recv 0 ch 0
block 3 rank 1 ch 0
i0 rank 0 s input[0] -> i1 ch 0 block 0 step 0
i1 rank 1 r scratch[0] ch 0 block 2 step 1
i2 rank 1 s input[0] -> i3 ch 0 block 2 step 0
i3 rank 0 r scratch[0] ch 0 block 0 step 1
i4 rank 0 re scratch[0] => input[0] ch 0 block 1 step 0 deps i0,i3 waits i3
i5 rank 1 re scratch[0] => input[0] ch 0 block 3 step 0 deps i1,i2 waits i1
`

// TwoRanksProgram is an allreduce of two ranks by way of scratch, in two blocks a
// rank, with a chain of two reductions on rank 1.
const TwoRanksProgram = `program two
collective allreduce ranks=2 chunks=1 inplace
scratch 2
block 0.0 send 1 recv 1 ch 0
  0 s input[0]
  1 r scratch[0] hasdep
block 0.1 ch 0
  0 re scratch[0] => input[0] dep 0.1
block 1.0 send 0 recv 0 ch 0
  0 s input[0] hasdep
  1 r scratch[0] hasdep
block 1.1 ch 0
  0 nop dep 0.0
  1 re scratch[0] => input[0] dep 0.1
`

// Text returns the codes, the texts and the notes of list, a line each.
func Text(list diag.List) string {
	var s []string
	for _, d := range list {
		text := string(d.Code) + ": " + d.Text
		for _, n := range d.Notes {
			text += "; " + n.Text
		}
		s = append(s, text)
	}
	return strings.Join(s, "\n")
}

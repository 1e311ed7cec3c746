package verify_test

import (
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

// Where a message goes round by another rank, and no flag is raised, the
// message orders what it can: a write after a read always, a read after a
// write only where messages release.
func TestMessagesOrder(t *testing.T) {
	const overwrites = `program overwrites
collective opaque ranks=2 chunks=2 inplace in=2 out=2
protocol Simple
scratch 2
block 0.0 send 1 ch 0
  0 s input[0]*2
block 0.1 recv 1 ch 0
  0 r input[0]*2
block 1.0 send 0 recv 0 ch 0
  0 rcs scratch[0]*2
`
	const reads = `program reads
collective opaque ranks=2 chunks=2 inplace in=2 out=2
protocol Simple
scratch 3
block 0.0 send 1 ch 0
  0 cpy input[0] => scratch[2]
  1 s input[0]*2
block 0.1 recv 1 ch 0
  0 r scratch[0]*2
  1 cpy scratch[2] => scratch[0]
block 1.0 send 0 recv 0 ch 0
  0 rcs scratch[0]*2
`
	for _, x := range []struct {
		name, program string
		edit          []string
		chunks        int
		want          string
	}{
		{"a write after a read", overwrites, nil, 1, ""},
		{"so packets do", overwrites, []string{"Simple", "LL"}, 1, ""},
		{"a read after a write", reads, nil, 1, ""},
		{"so packets do not", reads, []string{"Simple", "LL"}, 1,
			"race: rank 0 block 1 step 1 (cpy) reads scratch[2], and nothing orders it after rank 0 block 0 step 0 (cpy), which writes it; " +
				"rank 0 block 0 step 0 (cpy) writes scratch[2]; block 1 then knows of block 0 by messages only, and messages of LL make nothing visible but what they carry"},
		{"no message", overwrites, []string{"block 0.1 recv 1 ch 0\n  0 r input[0]*2",
			"block 0.1 recv 1 ch 0\n  0 cpy scratch[0] => input[0]*2\n  1 r scratch[0]*2"}, 1, "no flag and no message tells block 1 how far block 0 has come"},

		// The first of two messages comes back and its receiver overwrites what the
		// second is yet to read.
		{"too early", overwrites, []string{"0 r input[0]*2", "0 r input[1]\n  1 r input[0]", "0 rcs scratch[0]*2",
			"0 rcs scratch[0]\n  1 rcs scratch[1]", "0 s input[0]*2", "0 s input[0]\n  1 s input[1]"}, 1, "race: rank 0 block 1 step 0 (r) writes input[1], and nothing orders it after rank 0 block 0 step 1 (s), which reads it; rank 0 block 0 step 1 (s) reads input[1]; block 1 then knows of block 0 only that step 0 has ended"},
		{"in one step", overwrites, []string{"0 rcs scratch[0]*2", "0 rcs scratch[0]*2", "0 r input[0]*2", "0 r scratch[0]*2\n  1 cpy scratch[0] => input[0]*2"}, 1, ""},
		{"in two messages of a step", overwrites, []string{"0 r input[0]*2", "0 r input[1]*2", "chunks=2", "chunks=3",
			"in=2 out=2", "in=3 out=3"}, 1, "race: rank 0 block 1 step 0 (r) writes input[1], and nothing orders it after rank 0 block 0 step 0 (s), which reads it"},
		{"in packets of one message", overwrites, []string{"Simple", "LL", "0 r input[0]*2", "0 r input[1]*2", "chunks=2",
			"chunks=3", "in=2 out=2", "in=3 out=3"}, 2, "rank 0 block 0 step 0 (s) reads input[1]; the message comes back to it in packets of LL, one by one, and those of one chunk say nothing of another"},
		{"in packets of the same chunks", overwrites, []string{"Simple", "LL"}, 2, ""},
		{"in one message", overwrites, []string{"0 r input[0]*2", "0 r input[1]*2", "chunks=2", "chunks=3", "in=2 out=2", "in=3 out=3"}, 2, ""},
	} {
		text := x.program
		for i := 0; i < len(x.edit); i += 2 {
			text = strings.Replace(text, x.edit[i], x.edit[i+1], 1)
		}
		p := irtest.Program(t, text)
		p.Even = true
		r, list := verify.Check(p, verify.Options{MessageChunks: x.chunks, MostChunks: x.chunks})
		if got := irtest.Text(list); !strings.Contains(got, x.want) || x.want == "" && got != "" {
			t.Errorf("%s: %s\nwant %s", x.name, got, x.want)
		}
		replayAll(t, p, verify.Options{MessageChunks: x.chunks, MostChunks: x.chunks}, map[string]int{})
		if len(list) != len(r.Counterexamples) {
			t.Errorf("%s: %d problems and %d counterexamples", x.name, len(list), len(r.Counterexamples))
		}
	}
}

// What the allowed work does not decide is rejected as such.
func TestUndecided(t *testing.T) {
	p := irtest.Program(t, irtest.TwoRanksProgram)
	_, list := verify.Check(p, verify.Options{Work: 1})
	if len(list) != 1 || list[0].Code != diag.Undecided || list[0].Hint == "" {
		t.Errorf("%v", irtest.Text(list))
	}
}

// Every operation that sends releases and every one that receives acquires, so
// that one pair of relations does for all steps of a program.
func TestOperationsRelease(t *testing.T) {
	for op := range ir.Move { // the two-sided
		info := op.Info()
		if (info.Release == ir.SystemScope) != info.Sends || (info.Acquire == ir.SystemScope) != info.Receives {
			t.Errorf("%v: release %d, acquire %d", op, info.Release, info.Acquire)
		}
	}
}

// So is a result of which too many sums would have to be taken apart.
func TestUndecidedSums(t *testing.T) {
	p := irtest.RingProgram(64)
	if _, list := verify.Check(p, verify.Options{Work: 1 << 15}); len(list) > 0 {
		t.Errorf("%v", irtest.Text(list))
	}
	if _, list := verify.Check(p, verify.Options{Work: 1 << 10}); len(list) != 1 || list[0].Code != diag.Undecided {
		t.Errorf("%v", irtest.Text(list))
	}
}

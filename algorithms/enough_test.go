package algorithms_test

import (
	"strconv"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/lang"
)

// Where the work allowed is not enough for a program that is right, the verdict is undecided, and nothing else; and the
// value that the hint names is enough.
func TestTheWorkThatAHintNamesIsEnough(t *testing.T) {
	undecided := 0
	for _, c := range []struct {
		name     string
		params   lang.Params
		oneSided bool
		protocol ir.Protocol
	}{
		{"allreduce/ring", lang.Params{"ranks": 8, "channels": 2}, false, ir.Simple},
		{"allreduce/ring", lang.Params{"ranks": 8}, false, ir.LL},
		{"allreduce/ring", lang.Params{"ranks": 8}, true, ir.Simple},
		{"allreduce/ring", lang.Params{"ranks": 8}, true, ir.LL},
		{"allreduce/allpairs", lang.Params{"ranks": 8}, false, ir.LL},
		{"allreduce/allpairs", lang.Params{"ranks": 8}, true, ir.LL},
		{"allreduce/recursive_doubling", lang.Params{"ranks": 16}, true, ir.Simple},
		{"alltoall/bruck", lang.Params{"ranks": 8}, false, ir.LL},
		{"allgather/bruck", lang.Params{"ranks": 13}, true, ir.LL128},
		{"alltoall/two_step", lang.Params{"nodes": 3, "gpus": 3}, false, ir.LL},
		{"allreduce/hierarchical", lang.Params{"nodes": 3, "gpus": 4}, false, ir.Simple},
		{"allreduce/double_binary_tree", lang.Params{"ranks": 12}, true, ir.LL},
	} {
		src, err := algorithms.Open(c.name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := mscclc.Compile(c.name, src, mscclc.Options{Lang: lang.Options{Params: c.params, Protocol: &c.protocol,
			Open: algorithms.Open}, OneSided: c.oneSided})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for work := int64(1); work < 1<<20; work *= 4 {
			_, list := verify.Check(p, verify.Options{Work: work})
			if len(list) == 0 {
				break
			}
			undecided++
			if len(list) > 1 || list[0].Code != diag.Undecided {
				t.Errorf("%s with work %d: %v", c.name, work, list)
			}
			if _, list := verify.Check(p, verify.Options{Work: named(t, list[0].Hint)}); len(list) > 0 {
				t.Errorf("%s with work %d: %s, and with that, %v", c.name, work, list[0].Hint, list)
			}
		}
	}
	if undecided < 30 {
		t.Errorf("%d verdicts were undecided, too few to say anything", undecided)
	}
}

// named returns the value in a hint that says which is enough.
func named(t *testing.T, hint string) int64 {
	value, ok := strings.CutSuffix(strings.TrimPrefix(hint, "--limit work="), " is enough")
	if !ok {
		t.Fatalf("hint %q", hint)
	}
	digits := strings.TrimRight(value, "KMG")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << (10 * (strings.Index(" KMG", value[len(digits):]) & 3))
}

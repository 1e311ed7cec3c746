package verify_test

import (
	"strings"
	"testing"

	"mscclc/ir/diag"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

// thirdParty is a broadcast from rank 0 to rank 2, to which rank 1 alone signals the data, and to rank 1.
const thirdParty = `program third
collective broadcast ranks=3 chunks=1
scratch 0,1,1
onesided depth 1
packets 0
flags 2
block 0.0
  0 wait flags[0] x0
  1 mv input[0] -> output[0] 1:scratch[0] 2:scratch[0]
  2 signal 1:flags[0]
block 1.0
  0 wait flags[0] x1
  1 mv scratch[0] -> output[0]
  2 signal 2:flags[0]
block 2.0
  0 wait flags[0] x1
  1 mv scratch[0] -> output[0]
  2 signal 0:flags[0]
`

// TestAcrossNodes says of programs what the rule for nodes says of them; all are proven where there is one node.
func TestAcrossNodes(t *testing.T) {
	direct := []string{"signal 1:flags[0]", "signal 1:flags[0] 2:flags[1]", "block 2.0\n  0 wait flags[0] x1",
		"block 2.0\n  0 wait flags[0] x1 flags[1] x1"}
	for _, c := range []struct {
		name string
		edit []string
		node []int32
		want []string // parts of what is said; nothing is for programs that keep to the rule
	}{
		{"one node", nil, []int32{7, 7, 7}, nil},
		{"the reader's node has the teller", nil, []int32{0, 1, 1}, []string{
			"rank 2 block 0 step 1 (mv) reads scratch[0] of rank 2, and what rank 0 block 0 step 1 (mv) writes there",
			"rank 0 block 0 step 2 (signal) tells rank 1 block 0 step 0 (wait)",
			"rank 1 block 0 step 2 (signal) tells rank 2 block 0 step 0 (wait)",
			"rank 0 block 0 signals no flag of rank 2 after the write"}},
		{"the writer's node has the teller", nil, []int32{0, 0, 1}, []string{"rank 0 block 0 signals no flag of rank 2"}},
		{"the reader is of the writer's node", nil, []int32{0, 1, 0}, nil},
		{"a signal of the writer itself", direct, []int32{0, 1, 2}, nil},
		{"that is awaited later", append(direct, " flags[1] x1\n  1 mv scratch[0] -> output[0]",
			"\n  1 mv scratch[0] -> output[0]\n  2 wait flags[1] x1", "  2 signal 0", "  3 signal 0"), []int32{0, 1, 2},
			[]string{"rank 2 block 0 does not know that the write was awaited: by rank 2 block 0 step 2 (wait) of flags[1]"}},
		{"that is relaxed", append(direct, "2:flags[1]", "2:flags[1] relaxed"), []int32{0, 1, 2}, []string{"race"}},
		{"two that share a group with the write", append(direct, "2:flags[1]", "2:flags[1] joint"), []int32{0, 1, 2},
			[]string{"race"}},
		{"nothing sends it", append(direct, "scratch 0,1,1", "scratch 0,1,2", "signal 1:flags[0] 2:flags[1]\n",
			"signal 1:flags[0] 2:flags[1]\n  3 mv input[0] -> 2:scratch[1]\n"), []int32{0, 0, 1},
			[]string{"rank 0 block 0 step 3 (mv) writes scratch[1] of rank 2, which is of another node, and no signal of " +
				"its block to that rank, after it in each tile iteration, sends that"}},
		{"a relaxed signal sends nothing", append(direct, "scratch 0,1,1", "scratch 0,1,2", "signal 1:flags[0] 2:flags[1]\n",
			"signal 1:flags[0] 2:flags[1]\n  3 mv input[0] -> 2:scratch[1]\n  4 signal 2:flags[1] relaxed\n"), []int32{0, 0, 1},
			[]string{"rank 0 block 0 step 3 (mv) writes scratch[1] of rank 2, which is of another node, and no signal of " +
				"its block to that rank, after it in each tile iteration, sends that"}},
		{"an ordinary signal after it does", append(direct, "scratch 0,1,1", "scratch 0,1,2", "signal 1:flags[0] 2:flags[1]\n",
			"signal 1:flags[0] 2:flags[1]\n  3 mv input[0] -> 2:scratch[1]\n  4 signal 2:flags[1]\n"), []int32{0, 0, 1}, nil},
		{"a read", []string{"mv scratch[0] -> output[0]\n  2 signal 2", "mv 0:input[0] -> output[0]\n  2 signal 2"},
			[]int32{0, 1, 1}, []string{"rank 1 block 0 step 1 (mv) reads input[0] of rank 0, which is of another node"}},
		{"a write to output", []string{"-> output[0] 1:scratch[0] 2:scratch[0]", "-> output[0] 1:scratch[0] 2:output[0]"},
			[]int32{0, 0, 1}, []string{"writes output[0] of rank 2, which is of another node: data goes there through scratch"}},
		{"too few nodes", nil, []int32{0, 1}, []string{"nodes are given for 2 ranks, and the program has 3"}},
	} {
		p := edited(t, irtest.Program(t, thirdParty), c.edit)
		_, whole := verify.Check(p, verify.Options{Nodes: c.node})
		for _, list := range []diag.List{whole, verify.AcrossNodes(p, c.node)} {
			text := irtest.Text(list)
			if len(c.want) == 0 && text != "" {
				t.Errorf("%s: %s", c.name, text)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s: %s\nno %q", c.name, text, want)
				}
			}
		}
	}
}

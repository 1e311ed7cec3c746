package core

import (
	"testing"

	"mscclc/ir"
)

// TestStaged lowers so that ranks reach scratch of others only: no rank signals another that its launch begins or ends.
func TestStaged(t *testing.T) {
	pulled := "algorithm a(ranks = 2)\ncollective allgather(ranks)\n" +
		"for r in 0..ranks, p in 0..ranks { chunk(p, input, 0).copy(r, output, p, pull = true) }"
	switched := "algorithm a(ranks = 2)\ncollective allreduce(ranks)\nfor r in 0..ranks { reduce([chunk(p, input, r) for p in " +
		"0..ranks], r, output, r, via = switch).copy([0, 1], output, r, via = switch) }"
	for _, k := range []struct {
		name string
		c    *ir.ChunkDAG
		want string
	}{
		{"allpairs", known(t, "allreduce/allpairs", 2, ir.Simple), `
mv input[1] -> 1:scratch[0]
signal 1:flags[0]
wait flags[0] x1
mv input[0] + scratch[0] -> input[0] 1:scratch[1] final
signal 1:flags[0]
wait flags[0] x2
mv scratch[1] -> input[1]
`},
		{"ring", known(t, "allgather/ring", 3, ir.Simple), `
mv input[0] -> output[0] 1:scratch[0]
signal 1:flags[0]
wait flags[0] x1
mv scratch[0] -> output[2] 1:scratch[1]
signal 1:flags[0]
wait flags[0] x2
mv scratch[1] -> output[1]
`},
		{"pull", expandFor(t, pulled, 2, ir.Simple), `
mv input[0] -> output[0] scratch[0]
signal 1:flags[0]
wait flags[0] x1
mv 1:scratch[0] -> output[1]
`},
		{"switch", expandFor(t, switched, 2, ir.Simple), "test.mscl:3:21: error: the switch reaches input and output of all " +
			"ranks, and a staged program reaches scratch and packets of other ranks only [hint]"},
	} {
		got, err := stepsAs(k.c, 0, Options{Staged: true})
		if err != nil {
			got = err.Error()
		} else {
			got = "\n" + got
		}
		if got != k.want {
			t.Errorf("%s:%s\nwant%s", k.name, got, k.want)
		}
	}
}

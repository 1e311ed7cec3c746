package benchcmd

import (
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
)

// TestNodesAsSaid has ranks that lie as --nodes says, and otherwise.
func TestNodesAsSaid(t *testing.T) {
	for _, c := range []struct {
		flag cli.Nodes
		node []int
		want string
	}{
		{"", []int{0, 0, 0, 1}, ""}, {"2", []int{0, 0, 1, 1}, ""}, {"2", []int{0, 1, 0, 1}, ""},
		{"2", []int{0, 0, 0, 0}, ""}, {"3,1", []int{0, 0, 0, 1}, ""},
		{"2", []int{0, 0, 0, 1}, "--nodes is 2, and the nodes of the processes have 3,1 ranks; give --nodes 3,1, or leave it out"},
		{"2,2", []int{0, 0, 0, 1}, "have 3,1 ranks; give --nodes 3,1, or leave it out"},
		{"4", []int{0, 0, 1, 1}, "have 2,2 ranks; give --nodes 2,2, or leave it out"},
		{"3,1", []int{0, 1, 0, 0},
			"--nodes 3,1 is for ranks that follow each other on each node, and the ranks are on nodes 0 1 0 0; leave --nodes out"},
		{"2", []int{0, 1, 0, 0}, "--nodes is 2, and the ranks are on nodes 0 1 0 0; leave --nodes out"},
	} {
		err := nodesAsSaid(c.flag, c.node)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("--nodes %s, ranks on nodes %v: %v, not %q", c.flag, c.node, err, c.want)
		}
	}
}

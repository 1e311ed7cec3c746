package cli

import (
	"slices"
	"strings"
	"testing"

	"mscclc/ir/diag"
)

// TestNodesOtherwise has ranks that lie as --nodes says, or in other blocks, or in none.
func TestNodesOtherwise(t *testing.T) {
	for _, c := range []struct {
		flag Nodes
		node []int
		want string
	}{
		{"", []int{0, 1}, ""}, {"2", []int{0, 0, 1, 1}, ""}, {"3,1", []int{0, 0, 0, 1}, ""}, {"3", []int{0, 0}, ""}, {"2", []int{0, 0}, ""},
		{"3,1", []int{0, 0, 1, 1}, "--nodes 3,1 was given, but the nodes of the processes have 2,2 ranks: give --nodes 2,2"},
		{"2", []int{0, 1, 2, 2}, "have 1,1,2 ranks: give --nodes 1,1,2"},
		{"2", []int{0, 1, 0, 1}, "start a process for each rank"},
	} {
		if got := c.flag.Otherwise(c.node); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("--nodes %s, ranks on %v: %q", c.flag, c.node, got)
		}
	}
}

// TestNodesHinted gives the hint to errors of programs that do not run on the nodes, and to no other.
func TestNodesHinted(t *testing.T) {
	for code, want := range map[diag.Code]string{diag.AcrossNodes: "give --nodes 3,1", diag.Unavailable: "as before"} {
		given := diag.List{diag.New(code, diag.Span{}, "no").WithHint("as before")}
		list, ok := Nodes("2").Hinted(given, func() []int { return []int{0, 0, 0, 1} }).(diag.List)
		if !ok || !strings.Contains(list[0].Hint, want) || given[0].Hint != "as before" {
			t.Errorf("%v: %v", code, list)
		}
	}
}

// TestNodes reads the flag --nodes for some numbers of ranks.
func TestNodes(t *testing.T) {
	for _, c := range []struct {
		flag  string
		ranks int
		want  []int32 // nil is an error
	}{
		{"2", 4, []int32{0, 0, 1, 1}},
		{"1", 2, []int32{0, 0}},
		{"2,3", 5, []int32{0, 0, 1, 1, 1}},
		{"1,1,1", 3, []int32{0, 1, 2}},
		{"2", 3, nil}, {"2,3", 6, nil}, {"2,3", 4, nil}, {"0", 4, nil}, {"2,", 4, nil}, {"-1", 4, nil}, {"x", 4, nil},
		{"60000,60000", 4, nil},
	} {
		got, err := Nodes(c.flag).Of(c.ranks)
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("--nodes %s of %d ranks: %v, %v", c.flag, c.ranks, got, err)
		}
	}
	if got, err := Nodes("").Of(4); got != nil || err != nil || Nodes("").Check() != nil || Nodes("x").Check() == nil {
		t.Error("no flag is one node, and x is none")
	}
}

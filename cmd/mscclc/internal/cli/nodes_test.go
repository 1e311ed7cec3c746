package cli

import (
	"slices"
	"testing"
)

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

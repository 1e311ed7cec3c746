package choose

import (
	"path"
	"slices"
	"testing"

	"mscclc/ir"
	"mscclc/ir/verify"
	"mscclc/selection"
)

// TestOnNodes names layouts of ranks, and says which are equal blocks.
func TestOnNodes(t *testing.T) {
	for _, c := range []struct {
		node   []int
		on     string
		nodes  int
		blocks bool
	}{
		{nil, "", 0, true}, {[]int{0, 0}, "", 1, true}, {[]int{0, 0, 1, 1}, "0,0,1,1", 2, true},
		{[]int{0, 1, 0, 1}, "0,1,0,1", 2, false}, {[]int{0, 0, 0, 1}, "0,0,0,1", 2, false},
		{[]int{0, 1, 1, 0}, "0,1,1,0", 2, false}, {[]int{0, 1, 2}, "0,1,2", 3, true}, {[]int{0, 1, 1}, "0,1,1", 2, false},
		{[]int{1, 1, 0, 0}, "1,1,0,0", 2, false}, {[]int{0, 0, 1, 2, 2, 2}, "0,0,1,2,2,2", 3, false},
	} {
		on, nodes := OnNodes(c.node)
		call := Call{Ranks: len(c.node), Nodes: nodes, On: on}
		if on != c.on || nodes != c.nodes || call.blocks() != c.blocks {
			t.Errorf("%v: %q, %d, blocks %v", c.node, on, nodes, call.blocks())
		}
	}
	for _, c := range []struct {
		ranks, nodes int
		on           string
	}{{4, 2, "0,0,1,1"}, {3, 2, "0,0,1"}, {4, 1, ""}, {4, 0, ""}, {5, 4, "0,0,1,1,2"}} {
		if on := InBlocks(c.ranks, c.nodes); on != c.on {
			t.Errorf("%d ranks on %d nodes: %q", c.ranks, c.nodes, on)
		}
	}
}

// TestChooseOnNodes has programs be proven for the nodes that ranks are on, however these lie, and programs of nodes
// and GPUs be chosen only where they lie in equal blocks.
func TestChooseOnNodes(t *testing.T) {
	nodal := 0
	for _, node := range [][]int{{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1}, {0, 1, 2}, {0, 0, 1, 1, 2, 2}} {
		for _, kind := range []ir.Kind{ir.AllReduce, ir.AllGather, ir.AllToAll, ir.Broadcast} {
			c := &Chooser{Device: "cpu"}
			call := Call{Kind: kind, Ranks: len(node)}
			call.On, call.Nodes = OnNodes(node)
			for _, bytes := range []int64{1 << 10, 1 << 20} {
				v, measured, err := c.Choose(call, bytes, 2)
				if err != nil || measured {
					t.Fatalf("%v on %v: %v", kind, node, err)
				}
				if factsInCatalog(v.Program).nodal {
					nodal++
					if !call.blocks() {
						t.Errorf("%s is chosen for ranks on %v", v.Program, node)
					}
				}
				p, err := c.Program(v, call)
				if err != nil {
					t.Fatal(err)
				}
				if err := verify.AcrossNodes(p, call.on()).Err(); err != nil {
					t.Errorf("%s on %v: %v", path.Base(v.Program), node, err)
				}
			}
		}
	}
	if nodal == 0 {
		t.Error("no program of several nodes was chosen")
	}
}

// TestLoweredCandidates has two-sided programs be lowered for calls on several nodes, and only there.
func TestLoweredCandidates(t *testing.T) {
	for _, on := range []string{"", "0,0,1,1"} {
		c := &Chooser{Device: "NVIDIA H200"}
		list, _, err := c.Ranked(Call{Kind: ir.AllReduce, Ranks: 4, Nodes: 2, On: on}, 1<<20, 2)
		if err != nil {
			t.Fatal(err)
		}
		is := slices.ContainsFunc(list, func(v selection.Choice) bool { return v.Sided == selection.Lowered })
		if is != (on != "") {
			t.Errorf("on %q: %v", on, list)
		}
	}
}

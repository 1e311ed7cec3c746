package topology

import "testing"

// TestOnly renumbers GPUs of a machine, and keeps the links between them.
func TestOnly(t *testing.T) {
	m, err := Open("h200:nodes=3")
	if err != nil {
		t.Fatal(err)
	}
	less, err := m.Only([]int32{17, 16, 2, 1})
	if err != nil {
		t.Fatal(err)
	}
	if less.Nodes != 2 || less.GPUs != 2 || less.Ranks() != 4 || len(less.Places) != len(m.Places)-20 {
		t.Errorf("%d nodes of %d GPUs, %d places", less.Nodes, less.GPUs, len(less.Places))
	}
	for rank, want := range []string{"node 0 gpu[0]", "node 0 gpu[1]", "node 1 gpu[0]", "node 1 gpu[1]"} {
		if got := less.Places[rank].String(); got != want {
			t.Errorf("rank %d is %s, not %s", rank, got, want)
		}
	}
	there, here := NewRouter(m), NewRouter(less)
	for _, pair := range [][4]int{{17, 16, 0, 1}, {16, 2, 1, 2}} {
		old, now := there.Route(nil, pair[0], pair[1]), here.Route(nil, pair[2], pair[3])
		if len(now) == 0 || len(old) != len(now) {
			t.Errorf("from GPU %d to %d there are %d links, and %d between their ranks", pair[0], pair[1], len(old), len(now))
		}
	}
	for _, gpus := range [][]int32{{0, 1, 8}, {0, 8, 1, 9}} {
		if _, err := m.Only(gpus); err == nil {
			t.Errorf("GPUs %v are ranks node by node", gpus)
		}
	}
}

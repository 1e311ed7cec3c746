package topology

import (
	"strings"
	"testing"
)

// TestWithout counts the directed links that each name leaves out.
func TestWithout(t *testing.T) {
	m, err := Open("dgx_h100:nodes=2")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"pcie": 32, "3": 4, "nic[0]": 8, "node1.nic[0]": 4, "8-node1.nvswitch": 2,
		"8>node1.nvswitch": 1, "node1.gpu[0]>node1.nvswitch": 1, "rail-spine": 16, "gpu-nvswitch": 32, "spine": 16} {
		less, err := m.Without([]string{name})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := len(m.Links) - len(less.Links); got != want {
			t.Errorf("%s leaves out %d links, not %d", name, got, want)
		}
	}
	for name, want := range map[string]string{"wire": "no link", "16": "no rank 16", "0-1": "no link", "nic[8]": "no link",
		"": "no link", "0-": "no link", "node2.nic[0]": "no link", "-": "no link"} {
		if _, err := m.Without([]string{name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

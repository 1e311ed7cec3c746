package tuned

import "testing"

// TestMachineApart: GPUs are apart if some two of those that take part do not reach each other's memory.
func TestMachineApart(t *testing.T) {
	for _, c := range []struct {
		links string
		gpus  int
		want  bool
	}{{"NVLink", 8, false}, {"PCIe", 4, false}, {"none", 2, true}, {"none", 1, false}, {"-N-- N--- ---N --N-", 2, false},
		{"-N-- N--- ---N --N-", 3, true}, {"-NPP N-PP PP-N PPN-", 4, false}, {"", 4, false}} {
		if got := (Machine{Links: c.links}).Apart(c.gpus); got != c.want {
			t.Errorf("%q, %d GPUs: %v, want %v", c.links, c.gpus, got, c.want)
		}
	}
}

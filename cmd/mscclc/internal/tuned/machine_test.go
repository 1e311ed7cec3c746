package tuned

import (
	"slices"
	"testing"

	"mscclc/bundle"
	"mscclc/ir"
)

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

// TestSpecOfApart: among GPUs that are apart, the library learns about programs without packets.
func TestSpecOfApart(t *testing.T) {
	for links, apart := range map[string]bool{"none": true, "NVLink": false, "-N-- N--- ---N --N-": true} {
		spec, packets, kinds := SpecOf(Machine{Device: "x", GPUs: 4, Links: links}, nil), false, map[ir.Kind]bool{}
		for _, r := range spec.Rules {
			if r.Candidate() && r.Ranks == 4 {
				kinds[r.Kind], packets = true, packets || r.Protocol != ir.Simple
			}
		}
		if packets == apart || len(kinds) != len(bundle.Kinds) {
			t.Errorf("%s: packets %v, candidates of %v", links, packets, kinds)
		}
		if _, err := bundle.Build(spec); err != nil {
			t.Error(links, err)
		}
	}
}

// TestSpecOfApartBuiltIn: rules that are built in for GPUs that reach each other's memory do not stand in the way of
// candidates where they are apart. Programs for all sizes are there, for jobs without NCCL.
func TestSpecOfApartBuiltIn(t *testing.T) {
	const gpus = 2
	spec := SpecOf(Machine{Device: "NVIDIA H200", GPUs: gpus, Links: "none"}, nil)
	whole := map[ir.Kind]bool{}
	for _, r := range spec.Rules {
		if r.Ranks != gpus || r.Invariant || r.Nodes != "" {
			continue
		}
		if !r.Candidate() {
			t.Errorf("a rule for %v up to %d is no candidate, and was measured where GPUs are not apart", r.Kind, r.UpTo)
		}
		whole[r.Kind] = whole[r.Kind] || r.UpTo == 0
	}
	for _, kind := range bundle.Kinds {
		if !whole[kind] {
			t.Errorf("%v has no candidate for the largest calls", kind)
		}
	}
	near := SpecOf(Machine{Device: "NVIDIA H200", GPUs: gpus, Links: "NVLink"}, nil)
	if !slices.ContainsFunc(near.Rules, func(r bundle.Rule) bool { return r.Ranks == gpus && !r.Candidate() }) {
		t.Error("no rule is built in for GPUs that reach each other's memory")
	}
}

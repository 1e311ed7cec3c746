package runtime_test

import (
	"fmt"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/internal/covering"
)

// invariantBundle writes a bundle with rules for invariant bits, which nobody measured.
func invariantBundle(t *testing.T, ranks int) string {
	t.Helper()
	rules, _ := bundle.RulesFor(ranks, 4, nil, true)
	b, err := bundle.Build(bundle.Spec{Device: device, Ranks: []int{ranks}, CTAs: 4, Rules: rules,
		DTypes: []data.DType{data.F32, data.F16, data.BF16, data.I32}})
	if err != nil {
		t.Fatal(err)
	}
	return write(t, bundle.Encode(b))
}

const wantsBits = "MSCCLC_BITS=invariant"

// TestFrontInvariant: with MSCCLC_BITS=invariant, all sums of floats are added in the order of ranks, from the first
// call on: of all sizes, types, alignments and placements, eager, captured and in groups. NCCL has none of them.
func TestFrontInvariant(t *testing.T) {
	for _, ranks := range []int{3, 4, 8} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			commands, counts := []string{"init 0"}, []int{1, 5, 61, 777, 4096, 30000, 262147}
			if ranks == 8 {
				counts = []int{5, 777, 30000}
			} else if ranks == 4 && !covering.CI() {
				counts = counts[:6] // three ranks have the largest
			}
			for _, dtype := range []int{6, 7, 9} {
				for i, count := range counts {
					commands = append(commands, fmt.Sprintf("allreduce 0 %d %d 0 0 0 vo", count, dtype),
						fmt.Sprintf("allreduce 0 %d %d 0 0 1 vou", count, dtype), fmt.Sprintf("allreduce 0 %d %d 0 0 2 voi", count, dtype),
						fmt.Sprintf("reducescatter 0 %d %d 0 0 0 vo", count/ranks+1, dtype),
						fmt.Sprintf("reduce 0 %d %d 0 %d 0 vom", count, dtype, i%ranks), "sync")
				}
				commands = append(commands, "start", fmt.Sprintf("allreduce 0 900 %d 0 0 0 vo", dtype),
					fmt.Sprintf("allreduce 0 50000 %d 0 0 0 vo", dtype), "end", "sync",
					"capture 0", fmt.Sprintf("allreduce 0 7000 %d 0 0 0 vo", dtype), "endcapture 0 2", "sync")
			}
			commands = append(commands, "allreduce 0 1000 2 0 0 0 v", "allreduce 0 1000 7 2 0 0 v", "sync", "destroy 0")
			s := site{how: "preload", ranks: ranks, threads: true, late: true,
				bundle: invariantBundle(t, ranks), env: []string{wantsBits}}
			r := s.do(t, commands...).well(t)
			for _, fn := range []string{"AllReduce", "ReduceScatter", "Reduce"} {
				if n := r.count(t, fn); n > 0 {
					t.Errorf("NCCL has %d calls of %s\n%s", n, fn, r.output)
				}
			}
		})
	}
}

// TestFrontInvariantIsSeen: the sums of a job that does not ask for invariant bits have others, which the client sees.
func TestFrontInvariantIsSeen(t *testing.T) {
	s := site{how: "alone", ranks: 4, threads: true, bundle: invariantBundle(t, 4)}
	r := s.do(t, "init 0", "allreduce 0 30000 7 0 0 0 vo", "sync", "destroy 0")
	if want := "of the output is"; r.failed[0] == nil || !strings.Contains(r.output, want) {
		t.Errorf("%q is not in the output\n%s", want, r.output)
	}
}

// TestFrontInvariantRefuses: a sum of floats that no program runs is an error, which says why. Other calls are NCCL's
// as always.
func TestFrontInvariantRefuses(t *testing.T) {
	others := []string{"allreduce 0 100 8 2 0 0", "allreduce 0 100 4 0 0 0", "allgather 0 100 8 0 0 0", "allreduce 0 0 8 0 0 0",
		"sync", "destroy 0"}
	const invalidUsage = "expect 5"
	for _, c := range []struct {
		name   string
		ranks  int
		bundle func(t *testing.T) string
		env    string
		calls  []string
		says   string
	}{
		{"type", 3, func(t *testing.T) string { return invariantBundle(t, 3) }, "",
			[]string{invalidUsage, "allreduce 0 100 8 0 0 0", invalidUsage, "reducescatter 0 100 8 0 0 0"},
			"NCCL adds no floats, and no program runs this call: the bundle has no kernel of the type"},
		{"group", 3, func(t *testing.T) string { return invariantBundle(t, 3) }, "",
			[]string{"start", "allreduce 0 100 8 0 0 0", invalidUsage, "end"}, "no program runs this call"},
		{"no rules", 3, func(t *testing.T) string { return wholeBundle(t, 3) }, "",
			[]string{invalidUsage, "allreduce 0 100 7 0 0 0"}, "no rule of the bundle is for invariant bits"},
		{"no bundle", 3, func(t *testing.T) string { return "" }, "",
			[]string{invalidUsage, "allreduce 0 100 7 0 0 0"}, "no program runs this call: "},
		{"ranks", 3, func(t *testing.T) string { return invariantBundle(t, 4) }, "",
			[]string{invalidUsage, "reduce 0 100 7 0 0 0"}, "the bundle is not for communicators of 3 ranks"},
		{"two ranks", 2, func(t *testing.T) string { return "" }, "", []string{"allreduce 0 100 7 0 0 0"}, ""},
		{"not set", 3, func(t *testing.T) string { return "" }, "MSCCLC_BITS=", []string{"allreduce 0 100 7 0 0 0"}, ""},
		{"wrong", 3, func(t *testing.T) string { return "" }, "MSCCLC_BITS=Invariant", []string{"allreduce 0 100 7 0 0 0"},
			"is not invariant: the order of sums depends on the size of a call"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := site{how: "preload", ranks: c.ranks, threads: true, bundle: c.bundle(t),
				env: []string{"MSCCLC_DEBUG=WARN", wantsBits, c.env}}
			r := s.do(t, append(append([]string{"init 0"}, c.calls...), others...)...).well(t)
			if !strings.Contains(r.output, c.says) {
				t.Errorf("%q is not in the output\n%s", c.says, r.output)
			}
		})
	}
}

// TestFrontInvariantSettings: ranks of which only some want invariant bits do not use programs. Those that want them
// have an error, and do not wait.
func TestFrontInvariantSettings(t *testing.T) {
	s := site{how: "preload", ranks: 3, bundle: invariantBundle(t, 3), env: []string{"MSCCLC_DEBUG=WARN"}}
	s.of = func(rank int) []string { return []string{[]string{"MSCCLC_BITS=", wantsBits, "MSCCLC_BITS="}[rank]} }
	r := s.do(t, "init 0", "expect -1", "allreduce 0 1000 7 0 0 0", "sync", "destroy 0").well(t)
	if want := "ranks have different values of MSCCLC_BITS: not set on ranks 0, 2; invariant on rank 1"; !strings.Contains(
		r.output, want) {
		t.Errorf("%q is not in the output\n%s", want, r.output)
	}
}

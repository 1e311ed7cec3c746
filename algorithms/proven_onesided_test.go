package algorithms_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"mscclc"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang"
	"mscclc/passes/core"
)

// mostOneSided returns how many ranks a one-sided program has at most: the proof of a ring of 512 takes 4 GB.
func mostOneSided() int {
	switch {
	case covering.Full():
		return 512
	case covering.CI():
		return 128
	}
	return 32
}

// provenLanes returns how many lanes at most a program is proven with in a row: one; in a full run up to 64 ranks all
// of laneCounts, and two of them at 128.
func provenLanes(n, row int) []int {
	switch {
	case !covering.Full() || n > 128:
		return laneCounts[:1]
	case n > 64:
		return []int{1, laneCounts[1+row%(len(laneCounts)-1)]}
	}
	return laneCounts
}

// TestProvenOneSided asks for proofs of every program's one-sided form: at 32 ranks, for CI also at 64 and 128, with
// MSCCLC_TESTS=full also at 2 to 17, 256 and 512, and with lanes, which writes PROVEN_ONESIDED.md. Nothing may be
// rejected, and nothing undecided.
func TestProvenOneSided(t *testing.T) {
	all := programs(t)
	proofs := make([]proof, len(all))
	t.Cleanup(func() { // when all are through
		var b strings.Builder
		var sum proof
		for i, y := range proofs {
			row := fmt.Sprintf("| %s | %s | %d | %d |\n", all[i].name, ranges(y.counts), y.proven, y.steps)
			b.WriteString(sum.add(y, row, "PROVEN_ONESIDED.md", all[i].name))
		}
		sum.report(t, "PROVEN_ONESIDED.md",
			"# What was proven of one-sided programs\n\nMade by `MSCCLC_TESTS=full go test -timeout 0 -run TestProvenOneSided ./algorithms`: each program with\n"+
				"`--sided one`, where it is for that number of ranks:\n\n"+
				"* At 2 to 17, 32 and 64 ranks (nodes times gpus in every way up to 17), for protocols Simple and LL (LL16 and LL128 are\n"+
				"  the same program), in place and out of place, with at most 1, 2, 3, 4, 6, 8, 16 and 64 lanes.\n"+
				"* At 128 ranks the same, with one lane and with one other number of lanes.\n"+
				"* At 256 and 512 ranks in one of these ways, with one lane.\n\n"+
				"| program | ranks | proven | steps |\n|---|---|---|---|\n", b.String())
	})
	for i := range all {
		t.Run(all[i].name, func(t *testing.T) {
			t.Parallel()
			proofs[i] = all[i].proveOneSided(t, i)
		})
	}
}

// proveOneSided compiles and proves the one-sided form of p, the at-th program, at every rank count.
func (p *program) proveOneSided(t *testing.T, at int) proof {
	var sum proof
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for turn, n := range everyCount() {
		if n > mostOneSided() {
			continue
		}
		for _, params := range p.counts(n) {
			for row := range 4 {
				protocol, place := [2]ir.Protocol{ir.Simple, ir.LL}[row&1], new(bool)
				if *place = row>>1 == 1; many(n) {
					place = nil // the file's own
					if row != (at+turn)&1 {
						continue
					}
				}
				opt := lang.Options{Params: params, Inplace: place, Protocol: &protocol, Open: p.open}
				for _, lanes := range provenLanes(n, at+turn+row) {
					g.Go(func() error {
						steps, err := p.proveOneSidedOnce(opt, lanes)
						mu.Lock()
						defer mu.Unlock()
						if code := codeOf(err); code == diag.AssertFailed || code == diag.NotInPlace {
							return nil // p is not for that
						} else if err != nil {
							t.Errorf("%s %v %v in place %v, %d lanes: %v", p.name, params, protocol, row>>1 == 1, lanes, err)
							return nil
						}
						sum.counts = append(sum.counts, n)
						sum.proven, sum.steps = sum.proven+1, sum.steps+steps
						return nil
					})
				}
			}
		}
	}
	g.Wait()
	slices.Sort(sum.counts)
	sum.counts = slices.Compact(sum.counts)
	if len(sum.counts) == 0 || covering.CI() && len(sum.counts) < 3 {
		t.Errorf("%s was proven at %v ranks only", p.name, sum.counts)
	}
	return sum
}

func (p *program) proveOneSidedOnce(opt lang.Options, lanes int) (steps int, err error) {
	made, err := mscclc.CompileFile(p.tree, mscclc.Options{Lang: opt, OneSided: true, Core: core.Options{Lanes: lanes}})
	if err != nil {
		return 0, err
	}
	return len(made.Steps), nil
}

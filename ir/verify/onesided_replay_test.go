//go:build cgo

package verify_test

import (
	"context"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"mscclc/executor/cpu"
	"mscclc/executor/replay"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore/onesided"
)

// Whatever verify rejects of random one-sided programs with a fault shows on the CPU, but for a few of the races.
// MSCCLC_RANDOM=N asks for N programs, each with many faults.
func TestReplayOneSidedFaults(t *testing.T) {
	n := irtest.Count(t, 60)
	counts := map[string]int{}
	for seed := range n {
		rnd := rand.New(rand.NewSource(int64(seed)))
		p := onesided.Random(rnd)
		for range changesTried {
			q, ok := onesided.Mutations[rnd.Intn(len(onesided.Mutations))].Change(rnd, p)
			if !ok {
				continue
			}
			report, list := verify.Check(either.OfOneSided(q), verify.Options{})
			if len(list) == 0 {
				p = q
			}
			if slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.Malformed }) {
				continue // no device takes it
			}
			for _, w := range report.Counterexamples {
				got, err := replay.Run(context.Background(), either.OfOneSided(q), w, cpu.Device())
				if w.Problem.Code == diag.Race && err == nil && !got.Shown {
					counts["race, not seen"]++
					continue
				}
				if err != nil || !got.Shown {
					t.Fatalf("seed %d: %v\nis not shown: %v\n%s\n%s", seed, w.Problem, err, strings.Join(got.Lines, "\n"),
						textOf(t, either.OfOneSided(q)))
				}
				kind := string(w.Problem.Code)
				for what, text := range map[string]string{" by packets": "packets keep this order", " outside a launch": "of rank",
					" in joint moves": "are joint", " in another pass": "in pass 2"} {
					if last := got.Lines[len(got.Lines)-1]; strings.Contains(last, text) &&
						(what != " outside a launch" || w.With < 0) && kind == "race" {
						kind += what
						break
					}
				}
				counts[kind]++
			}
		}
	}
	t.Log(counts)
	if counts["race, not seen"] > counts["race"]/20 {
		t.Error("too many races were not seen")
	}
	for _, code := range []string{"race", "deadlock", "wrong-result", "uninitialized"} {
		if counts[code] < n/10 {
			t.Errorf("only %d of %s were replayed", counts[code], code)
		}
	}
}

//go:build cgo

package verify_test

import (
	"context"
	"strings"
	"testing"

	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/ir"
	"mscclc/ir/verify"
)

// replayAll judges a program and replays all that the verdict has a witness
// for. It counts them by code.
func replayAll(t *testing.T, p *ir.Program, opt verify.Options, counts map[string]int) {
	t.Helper()
	report, list := verify.Check(p, opt)
	for _, w := range report.Witnesses {
		got, err := executor.Replay(context.Background(), p, w, cpu.Device())
		if err != nil {
			t.Errorf("%s: %v: %v", p.Name, w.Problem, err)
		} else if !got.Shown || len(got.Lines) == 0 {
			t.Errorf("%s: %v\nis not shown:\n%s\n%s", p.Name, w.Problem, strings.Join(got.Lines, "\n"), full(list))
		}
		counts[string(w.Problem.Code)]++
		if testing.Verbose() {
			t.Logf("%s: %v\n%s", p.Name, w.Problem.Text, strings.Join(got.Lines, "\n"))
		}
	}
}

// Every fault of the table that has a witness shows on the CPU.
func TestReplayFaults(t *testing.T) {
	counts := map[string]int{}
	for _, x := range faults {
		replayAll(t, edited(t, x.name, x.edit), verify.Options{}, counts)
	}
	t.Log(counts)
}

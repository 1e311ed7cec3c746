//go:build cgo

package channels

import (
	"bytes"
	"context"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/executor/cpu"
	"mscclc/executor/replay"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

// replayed runs the counterexamples of races of p, which Check rejects, and counts how they show.
func replayed(t *testing.T, name string, p *ir.ChannelProgram, counts map[string]int) {
	t.Helper()
	g, report, _ := Check(p, verify.Options{})
	for _, w := range report.Counterexamples {
		if w.Problem.Code != diag.Race {
			continue
		}
		got, err := replay.Run(context.Background(), either.OfOneSided(g), w, cpu.Device())
		if err != nil {
			t.Errorf("%s: %v: %v", name, w.Problem.Text, err)
			continue
		}
		lines := strings.Join(got.Lines, "\n")
		kind := "in both orders, or outside of a launch"
		switch {
		case !got.Shown:
			kind = "not shown"
			t.Errorf("%s: %v is not shown:\n%s", name, w.Problem.Text, lines)
		case strings.Contains(lines, "elements are wrong"):
			kind = "by wrong numbers"
		case strings.Contains(lines, "and it hangs"):
			kind = "by a hang"
		case strings.Contains(lines, "no output depends on it"):
			kind = "by a stale read that no output shows"
		case strings.Contains(lines, "so that on a GPU") || strings.Contains(lines, "are joint") ||
			strings.Contains(lines, "make nothing visible"):
			kind = "by argument alone"
			t.Errorf("%s: %v is shown by no run:\n%s", name, w.Problem.Text, lines)
		}
		counts[kind]++
	}
}

// Every race of a program of channels shows in a run on the CPU: in both orders of the two accesses, or, where this
// machine keeps an order that the program does not ask for, by what one of them sees when the other's store is held
// back. MSCCLC_RANDOM=N asks for N changes of each program.
func TestRacesOfChannelsShow(t *testing.T) {
	counts := map[string]int{}
	for _, c := range wrongChannels {
		replayed(t, c.name, c.wrong.ChannelProgram, counts)
	}
	twice := twoPhasesOf(2)
	list := &twice.Ranks[0].Blocks[0]
	*list = append(*list, (*list)[0])
	twice.block(1, twice.Ranks[0].Blocks[0][0]) // a rank that sends to itself what another sends it
	twice.Ranks[1].Blocks[1][0].Srcs[0].Rank = 1
	sent := map[string]int{}
	if replayed(t, "packets that two send", twice.ChannelProgram, sent); len(sent) == 0 {
		t.Error("packets that two send are shown by nothing")
	}
	n := irtest.Count(t, 10)
	for name, b := range rightChannels() {
		for seed := range n {
			replayed(t, name, broken(b.ChannelProgram, rand.New(rand.NewSource(int64(seed)))), counts)
		}
	}
	t.Log(counts)
	if counts["by wrong numbers"] < 5 {
		t.Error("too few showed wrong numbers")
	}
}

// A plan of a switch whose last signals are relaxed ends with wrong numbers where the stores through the switch come
// late.
func TestSwitchWithRelaxedEndIsWrong(t *testing.T) {
	irtest.Each(t, irtest.Plans, func(t *testing.T, dir string) {
		for _, name := range relaxedEnds {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if os.IsNotExist(err) { // the other one's
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			_, p, err := mscclpp.Read(name, bytes.NewReader(text), codegen.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			counts := map[string]int{}
			replayed(t, name, p, counts)
			if len(counts) != 1 || counts["by wrong numbers"] != 1 {
				t.Errorf("%s: the race, which both ranks have, shows so: %v", name, counts)
			}
			return
		}
		t.Error("no such plan")
	})
}

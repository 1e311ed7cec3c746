//go:build cgo

package channels

import (
	"bytes"
	"context"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

// runTurns runs p on the CPU in a number of turns, and says what is wrong.
func runTurns(p *ir.ChannelProgram, turns int) error {
	g, err := Unroll(p, turns)
	if err != nil {
		return err
	}
	l, err := executor.Load(either.OfOneSided(g), executor.Options{Device: cpu.Device()})
	if err != nil {
		return err
	}
	defer l.Close()
	for _, each := range []int64{1, 4, 100, 5000} {
		buffers := data.New(data.NewGeometry(g.Coll, each*int64(max(g.Coll.Chunks, 1)), 4), data.I32, data.Sum, uint64(each))
		for range 3 {
			buffers.Reset()
			args := executor.DataArgs(buffers)
			args.Wait, args.Replicas = 20*time.Second, int(each%3)
			if _, err := l.Run(context.Background(), args); err != nil {
				return err
			}
			found := buffers.Check()
			found.Changed = nil // some write input
			if err := found.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// What is right runs with nothing wrong, in several turns.
func TestRightChannelsRun(t *testing.T) {
	for name, b := range rightChannels() {
		for turns := 1; turns <= 4 && (turns == 1 || leastLoop(b.ChannelProgram) != nil); turns++ {
			if err := runTurns(b.ChannelProgram, turns); err != nil {
				t.Errorf("%s in %d loop iterations: %v", name, turns, err)
			}
		}
	}
}

// relaxedEnds are the plans of a switch whose last signals are relaxed: our own, and MSCCL++'s example.
var relaxedEnds = []string{"switch_relaxed.json", "reduce_nvls.json"}

// Plans of our own and of MSCCL++'s own language are proven and run, but for those of relaxedEnds.
func TestPlansOfMSCCLPP(t *testing.T) {
	for _, file := range append(irtest.Files(t, irtest.Plans),
		filepath.Join("..", "..", "codegen", "mscclpp", "testdata", "swap.json")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, p, err := mscclpp.Read(filepath.Base(file), bytes.NewReader(text), codegen.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, list := Check(p, verify.Options{}); (len(list) > 0) != slices.Contains(relaxedEnds, filepath.Base(file)) {
			t.Errorf("%s:\n%s", file, texts(list))
		} else if len(list) > 0 {
			continue
		}
		if err := runTurns(p, 1); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// Programs from which something was taken away, or in which something stands elsewhere, are rejected or run with
// nothing wrong. MSCCLC_RANDOM=N asks for N of each.
func TestBrokenChannels(t *testing.T) {
	n := irtest.Count(t, 4)
	accepted, rejected := 0, 0
	for name, b := range rightChannels() {
		for seed := range n {
			p := broken(b.ChannelProgram, rand.New(rand.NewSource(int64(seed))))
			_, _, list := Check(p, verify.Options{})
			if rejected++; len(list) > 0 {
				continue
			}
			rejected--
			accepted++
			if err := runTurns(p, 1+seed%3); err != nil {
				t.Errorf("%s, seed %d: accepted, and %v", name, seed, err)
			}
		}
	}
	t.Logf("%d accepted and run, %d rejected", accepted, rejected)
	if accepted < 5*n/2 || rejected < 10*n/2 {
		t.Error("too few were judged to say anything")
	}
}

// The wrong programs are rejected as plans too, with the same codes, and the mended ones are proven.
func TestWrongPlans(t *testing.T) {
	judge := func(p *ir.ChannelProgram) diag.List {
		f, err := mscclpp.PlanOf(p)
		if err != nil {
			return err.(diag.List)
		}
		var text bytes.Buffer
		if err := mscclpp.Write(&text, f); err != nil {
			t.Fatal(err)
		}
		_, q, err := mscclpp.Read("plan.json", &text, codegen.ReadOptions{})
		if err != nil {
			return err.(diag.List)
		}
		_, _, list := Check(q, verify.Options{})
		return list
	}
	for _, c := range wrongChannels {
		if c.right.Coll.Kind == ir.Broadcast && c.right.Coll.InChunks(1) == 0 {
			continue // MSCCL++'s executor divides by the chunks of a rank's input, so that there are no such plans
		}
		if list := judge(c.wrong.ChannelProgram); !slices.ContainsFunc(
			list, func(d diag.Diagnostic) bool { return d.Code == c.code }) {
			t.Errorf("%s: not [%s], but\n%s", c.name, c.code, texts(list))
		}
		if list := judge(c.right.ChannelProgram); len(list) > 0 {
			t.Errorf("%s, mended:\n%s", c.name, texts(list))
		}
	}
}

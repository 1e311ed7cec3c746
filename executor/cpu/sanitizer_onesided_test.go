//go:build cgo

package cpu

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
)

// sanitizedOne runs a one-sided program under the driver with three threads a block, in
// two replicas, with several passes.
func sanitizedOne(t *testing.T, bin string, p *either.Program, wait time.Duration) (said string, err error) {
	t.Helper()
	d := data.New(data.NewGeometry(p.Coll, 24011, 4), data.I32, data.Sum, 3)
	args := executor.DataArgs(d)
	args.Wait, args.Replicas, args.TileBytes = wait, 2, 3072
	opt := executor.Options{Replicas: 2, TileBytes: 3072}
	if said, err = sanitize(t, bin, p, opt, d, args, 3); d.Check().Checked == 0 {
		t.Fatal("nothing was compared")
	}
	return said, err
}

// TestSanitizersOneSided runs one-sided programs under the thread sanitizer, and
// under those of addresses and undefined behaviour, which also see nonsense that is taken.
func TestSanitizersOneSided(t *testing.T) {
	for _, flag := range sanitizers() {
		t.Run(flag[11:], func(t *testing.T) {
			bin := build(t, flag)
			for _, p := range []*either.Program{onePhase(3, 1, ir.LL, 2, true), onePhase(3, 2, ir.Simple, 2, false),
				onePhase(2, 1, ir.Simple, 1, true), twoPhases(3, 1, false), push(3, true), pull(3, ir.ViaMemory),
				throughSwitch(3, false), gather(3, 2, true)} {
				if said, err := sanitizedOne(t, bin, p, time.Minute); err != nil || said != "" {
					t.Errorf("%s %v: %v\n%s", p.Name, p.Protocol, err, said)
				}
			}
			if flag != "-fsanitize=thread" {
				sanitizedNonsense(t, bin, irtest.Count(t, covering.Share(25)))
			}
		})
	}
}

// sanitizedNonsense runs n programs with numbers at random, where they are taken: whatever
// they do, it is not beyond their memory.
func sanitizedNonsense(t *testing.T, bin string, n int) {
	rnd := rand.New(rand.NewSource(2))
	for ran := 0; ran < n; {
		p, h := nonsense(ran, rnd), &oneHolder{}
		opt := executor.Options{Device: h, Unproven: true, Replicas: 2, TileBytes: 64}
		l, err := executor.Load(p, opt)
		if err != nil || h.layout.Scratch+h.layout.Packets+h.layout.FlagMem > 1<<20 {
			continue
		}
		ran++
		elems := int64(p.Coll.Chunks * (1 + rnd.Intn(20)))
		if !l.Even() && rnd.Intn(2) == 0 {
			elems++
		}
		d := data.New(data.NewGeometry(p.Coll, elems, 4), data.I32, data.Sum, 1)
		args := executor.DataArgs(d)
		args.Wait = time.Millisecond
		if said, _ := sanitize(t, bin, p, opt, d, args, 2); strings.Contains(said, "Sanitizer") ||
			strings.Contains(said, "runtime error") {
			t.Errorf("%s\n%s", said, keep(p))
		}
	}
}

// TestThreadSanitizerSeesOneSided breaks the kernel's order in one place at a time.
func TestThreadSanitizerSeesOneSided(t *testing.T) {
	broken := []string{1: "no barrier after a wait", 2: "no barrier before a signal",
		3: "signals do not release", 4: "waits do not acquire"}
	for n := 1; n <= mutations(len(broken)-1); n++ {
		t.Run(broken[n], func(t *testing.T) {
			bin := build(t, "-fsanitize=thread", fmt.Sprintf("-DKERNEL_MUTATION=%d", n))
			said, _ := sanitizedOne(t, bin, push(3, false), 2*time.Second)
			if !strings.Contains(said, "WARNING: ThreadSanitizer: data race") {
				t.Errorf("nothing was reported\n%s", said)
			}
		})
	}
}

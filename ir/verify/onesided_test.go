package verify_test

import (
	"strings"
	"testing"
	"time"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	"mscclc/lang"
)

// Each of these is what the one-sided lowering makes, or would.
func TestOneSidedGood(t *testing.T) {
	for _, c := range []struct {
		name string
		p    *either.Program
	}{
		{"all pairs, packets", irtest.AllPairsPackets(4, 2)},
		{"one phase", irtest.OnePhase(4, 2)},
		{"all pairs, plain", irtest.AllPairsPlain(4, 2)},
		{"gather", irtest.GatherPush(3)},
		{"chain", irtest.Chain(4, 2)},
		{"chain of one copy", irtest.Chain(4, 1)},
		{"ring, packets", irtest.RingPackets(4, 2)},
		{"ring, plain", irtest.RingPlain(4, 2)},
		{"switch", irtest.ThroughSwitch(3)},
		{"one group", irtest.OneGroup(4)},
		{"forwarded", irtest.Forwarded()},
	} {
		report, list := verify.Check(c.p, verify.Options{})
		if len(list) > 0 || !report.Ran {
			t.Errorf("%s: %s", c.name, irtest.Text(list))
		}
	}
}

// TestOneSidedScale proves larger programs. The work of a ring's proof grows as its steps do, and not as steps times
// ranks.
func TestOneSidedScale(t *testing.T) {
	for _, c := range []struct {
		name string
		p    *either.Program
	}{
		{"all pairs of 64", irtest.AllPairsPackets(64, 2)},
		{"all pairs of 64, plain", irtest.AllPairsPlain(64, 2)},
		{"ring of 256", irtest.RingPackets(256, 2)},
		{"ring of 256, plain", irtest.RingPlain(256, 2)},
		{"rings on the rails of 16 nodes", railRings(t)},
	} {
		at := time.Now()
		work := int64(0)
		if strings.HasPrefix(c.name, "ring") {
			work = 20 * int64(len(c.p.Steps))
		}
		if _, list := verify.Check(c.p, verify.Options{Work: work}); len(list) > 0 {
			t.Errorf("%s: %s", c.name, irtest.Text(list))
		}
		t.Logf("%s: %d steps, %v", c.name, len(c.p.Steps), time.Since(at))
	}
}

// railRings are rings through the 128 ranks of 16 nodes, each of which crosses between nodes at other ranks.
func railRings(t *testing.T) *either.Program {
	const name = "allgather/rail_rings.mscl"
	src, err := algorithms.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	packets := ir.LL
	p, err := mscclc.Compile(name, src, mscclc.Options{OneSided: true, Unproven: true, Lang: lang.Options{
		Params: lang.Params{"nodes": 16, "gpus": 8}, Open: algorithms.Open, Protocol: &packets}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

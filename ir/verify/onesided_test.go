package verify_test

import (
	"strings"
	"testing"
	"time"

	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

// Each of these is what the one-sided lowering makes, or would.
func TestOneSidedGood(t *testing.T) {
	for _, c := range []struct {
		name string
		p    *ir.Program
	}{
		{"all pairs, packets", allPairsPackets(4, 2)},
		{"one phase", onePhase(4, 2)},
		{"all pairs, plain", allPairsPlain(4, 2)},
		{"gather", gatherPush(3)},
		{"chain", chain(4, 2)},
		{"chain of one copy", chain(4, 1)},
		{"ring, packets", ringPackets(4, 2)},
		{"ring, plain", ringPlain(4, 2)},
		{"switch", throughSwitch(3)},
		{"one group", oneGroup(4)},
		{"forwarded", forwarded()},
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
		p    *ir.Program
	}{
		{"all pairs of 64", allPairsPackets(64, 2)},
		{"all pairs of 64, plain", allPairsPlain(64, 2)},
		{"ring of 256", ringPackets(256, 2)},
		{"ring of 256, plain", ringPlain(256, 2)},
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

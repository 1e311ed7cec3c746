package core

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
	"mscclc/passes/passestest"
)

// without returns p without source k of step i, an Await.
func without(p *onesided.Program, i int, k int32) *onesided.Program {
	q := *p
	q.Steps = slices.Clone(p.Steps)
	q.Blocks = slices.Clone(p.Blocks)
	at := q.Steps[i].Src + k
	q.Operands = slices.Delete(slices.Clone(q.Operands), int(at), int(at)+1)
	q.Steps[i].NSrc--
	for j := range q.Steps {
		if q.Steps[j].Src > at {
			q.Steps[j].Src--
		}
		if q.Steps[j].Dst > at {
			q.Steps[j].Dst--
		}
	}
	if q.Steps[i].NSrc == 0 {
		q.Steps = slices.Delete(q.Steps, i, i+1)
		for b := range q.Blocks {
			if int(q.Blocks[b].Steps.First) > i {
				q.Blocks[b].Steps.First--
			}
			if int(q.Blocks[b].Steps.End) > i {
				q.Blocks[b].Steps.End--
			}
		}
	}
	return &q
}

// spare lists the awaits that are not needed.
func spare(p *onesided.Program) (list []string, awaits int) {
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Op != ir.Await {
			continue
		}
		for k := range int32(s.NSrc) {
			awaits++
			x := p.Sources(s)[k]
			if _, found := verify.Check(either.OfOneSided(without(p, i, k)), verify.Options{}); len(found) == 0 {
				list = append(list, fmt.Sprintf("rank %d flags[%d] x%d flags %v", x.Rank, x.Index, x.Nth, s.Flags))
			}
		}
	}
	return list, awaits
}

// TestOneSidedLean asks of every wait in programs of the catalog whether the
// proof needs it, and of those in random programs, of which a few may be spare.
func TestOneSidedLean(t *testing.T) {
	all := 0
	for _, file := range passestest.Catalog(t) {
		for _, shape := range []string{"2 1 2", "3 1 3", "4 2 2", "5 1 5"} {
			for _, inplace := range []bool{false, true} {
				c := file.Expand(t, shape, inplace)
				if c == nil {
					continue
				}
				for _, protocol := range []ir.Protocol{ir.Simple, ir.LL} {
					c.Protocol = protocol
					p, err := Lower(c, Options{})
					if err != nil {
						t.Fatal(err)
					}
					list, awaits := spare(p)
					if all += awaits; len(list) > 0 {
						t.Errorf("%s, %s, in place %v, %v: %d waits are not needed: %v\n%.5000s", file.Name, shape, inplace, protocol,
							len(list), list, programText(p))
					}
				}
			}
		}
	}
	random, unneeded := 0, 0
	for seed := range irtest.Count(t, covering.Share(500)) {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{})
		c.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
		p, err := Lower(c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		list, awaits := spare(p)
		random, unneeded = random+awaits, unneeded+len(list)
	}
	t.Logf("%d waits of the catalog, %d of random programs, %d of which are spare", all, random, unneeded)
	if all < 1000 || unneeded > random/200 {
		t.Errorf("%d waits of the catalog, and of random programs %d of %d are spare", all, unneeded, random)
	}
}

package core

import (
	"bytes"
	"math/rand"
	"testing"

	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/onesided"
	"mscclc/ir/placement"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/passes/passestest"
)

// TestBothCatalog lowers every program of the catalog and of the examples that has an in-place form for both placements
// at once, on one node and on several, in one lane and in several, and asks for the proofs. Compiled out of place, some
// are wrong in place.
func TestBothCatalog(t *testing.T) {
	n, needed := 0, 0
	for turn, file := range passestest.Catalog(t) {
		for _, shape := range []string{"2 1 2", "4 2 2", "6 3 2"} {
			c := file.Expand(t, shape, false)
			if c == nil || file.Expand(t, shape, true) == nil {
				continue
			}
			for k := range 8 {
				c.Protocol = []ir.Protocol{ir.Simple, ir.LL}[k&1]
				opt := Options{Staged: k&2 > 0, Lanes: []int{1, 2, 3, 8}[(turn+k/2)%4], OnePass: (turn+k)%7 == 0}
				if k&4 > 0 {
					opt.Nodes = dealt(c.Coll.Ranks, 2, k&1 > 0)
				}
				if p, err := overNodes(c, opt); err == nil && !provenInPlace(p) {
					needed++
				}
				opt.Both = true
				p, err := overNodes(c, opt)
				if isHint(err) {
					continue
				}
				if err != nil || !p.InPlace || !p.OutOfPlace {
					t.Fatalf("%s %s, %v, %+v: %v\n%.5000s", file.Name, shape, c.Protocol, opt, err, programText(p))
				}
				n++
			}
		}
	}
	t.Logf("%d programs, of which %d are wrong in place where only the order out of place is kept", n, needed)
	if n < 500 || needed < 50 {
		t.Error("too few were judged to say anything")
	}
}

// provenInPlace reports whether p, which is for calls out of place, is right in place.
func provenInPlace(p *onesided.Program) bool {
	q := p.Called(true)
	_, found := verify.Check(either.OfOneSided(q), verify.Options{})
	return len(found) == 0
}

// TestBothRandom takes random legal programs through the table for both placements, on random nodes, with random passes
// off and random orders, and asks after every pass for each property in both.
func TestBothRandom(t *testing.T) {
	needed := 0
	for seed := range irtest.Count(t, covering.Share(1000)) {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{})
		c.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
		if !c.Coll.Inplace {
			continue
		}
		c = placement.Relocate(c, false, 0)
		opt := randomOptions(rnd)
		if rnd.Intn(2) == 0 {
			opt.Nodes = dealt(c.Coll.Ranks, 2, rnd.Intn(2) == 0)
		}
		if p, err := Lower(c, opt); err == nil && !provenInPlace(p) {
			needed++
		}
		opt.Both = true
		p, err := Lower(c, checked(opt, rnd))
		if err == nil {
			p, err = overNodes(c, opt)
		}
		if err != nil && !isHint(err) {
			var b bytes.Buffer
			text.WriteChunks(&b, c)
			t.Fatalf("seed %d, %v, options %+v: %v\n%s\n%s", seed, c.Protocol, opt, err, b.String(), programText(p))
		}
	}
	t.Logf("%d need the order of calls in place", needed)
	if needed == 0 {
		t.Error("the order of calls in place is never needed")
	}
}

// TestBothRefused: a program that is written in place has no order for calls out of place.
func TestBothRefused(t *testing.T) {
	c := known(t, "allreduce/allpairs", 2, ir.Simple)
	c.Coll.Inplace = true
	if _, err := Lower(c, Options{Both: true}); err == nil {
		t.Error("lowered")
	}
}

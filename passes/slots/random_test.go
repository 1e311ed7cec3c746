package slots

import (
	"errors"
	"math/rand"
	"testing"

	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	irfifo "mscclc/ir/fifo"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	"mscclc/passes/fifo"
)

// TestVerdicts holds that the verifier says the same of a two-sided program and of what it is lowered to: proven, or
// not. Half of the programs have a fault. What is proven runs right on the CPU, and keeps to the rule for nodes,
// whichever of these its ranks are of. MSCCLC_RANDOM=N tries N programs.
func TestVerdicts(t *testing.T) {
	var agree, proven, bySlots int
	n := irtest.Count(t, covering.Share(2000))
	for seed := range n {
		rnd := rand.New(rand.NewSource(int64(seed)))
		p := randomProgram(t, rnd)
		if p == nil || rnd.Intn(2) == 0 && !spoil(rnd, p) {
			continue
		}
		opt := Options{Slots: 1 + rnd.Intn(3), Depth: 1 + rnd.Intn(3)}
		_, two := verify.Check(p, verify.Options{Slots: opt.Slots, MessageChunks: ir.WholeSteps})
		if len(two) > 0 && two[0].Code == diag.Malformed {
			continue
		}
		one := lowered(p, opt)
		if len(one) == 0 && len(two) > 0 { // a full connection orders nothing, by the rules of two-sided programs
			bySlots++
			opt.Slots = 1 << 20
			one = lowered(p, opt)
		}
		if (len(two) == 0) != (len(one) == 0) {
			t.Fatalf("seed %d, %+v: two-sided says %v\none-sided says %v", seed, opt, two, one)
		}
		if agree++; len(two) == 0 {
			proven++
			g, err := Lower(p.Fifo, opt)
			if err != nil || !g.Staged() {
				t.Fatalf("seed %d: %v, or it is not staged", seed, err)
			}
			runRight(t, either.OfOneSided(g), rnd)
			node := make([]int32, g.Coll.Ranks)
			for r := range node {
				node[r] = int32(rnd.Intn(3))
			}
			if found := verify.AcrossNodes(either.OfOneSided(g), node); len(found) > 0 {
				t.Fatalf("seed %d, over nodes %v: %v", seed, node, found)
			}
		}
	}
	t.Logf("of %d random programs, %d have the same verdict, %d of them proven, and right on the CPU; %d are rejected only if slots order nothing",
		n, agree, proven, bySlots)
	if agree < n/2 || proven < n/4 || proven > agree-n/20 {
		t.Error("the programs are too much alike")
	}
}

// randomProgram compiles a random chunk DAG, or returns nil where hints do not fit.
func randomProgram(t *testing.T, rnd *rand.Rand) *either.Program {
	c := irtest.Random(rnd, irtest.Config{Ops: 10 + rnd.Intn(60)})
	c.Protocol = ir.Simple
	d, err := fifo.Lower(c, fifo.Options{Instances: 1 + rnd.Intn(3)})
	if err == nil {
		err = fifo.Run(d, fifo.Options{Level0: rnd.Intn(5) == 0})
	}
	var p *irfifo.Program
	if err == nil {
		p, err = codegen.Assemble(d)
	}
	var list diag.List
	if err != nil && !errors.As(err, &list) {
		t.Fatal(err)
	}
	return either.OfFifo(p)
}

// spoil makes one fault, and reports whether it found a place for it.
func spoil(rnd *rand.Rand, p *either.Program) bool {
	if len(p.Steps) < 2 {
		return false
	}
	i := rnd.Intn(len(p.Steps))
	s := &p.Steps[i]
	switch rnd.Intn(4) {
	case 0, 1: // a wait less
		if s.Op == ir.Nop || s.DepBlock < 0 {
			return false
		}
		s.DepBlock, s.DepStep = -1, -1
	case 2: // two steps change places
		if i+1 == len(p.Steps) {
			return false
		}
		p.Steps[i], p.Steps[i+1] = p.Steps[i+1], p.Steps[i]
	case 3: // a neighbouring chunk
		if s.DstBuf != ir.Scratch {
			return false
		}
		s.Dst++
	}
	return true
}

// lowered lowers p, and returns what is wrong with the result, or why there is none.
func lowered(p *either.Program, opt Options) diag.List {
	g, err := Lower(p.Fifo, opt)
	var list diag.List
	if errors.As(err, &list) {
		return list
	}
	_, found := verify.Check(either.OfOneSided(g), verify.Options{})
	return found
}

// runRight runs g with some number of elements, replicas, tiles and launches, and compares every element.
func runRight(t *testing.T, g *either.Program, rnd *rand.Rand) {
	t.Helper()
	l, err := executor.Load(g, executor.Options{Device: cpu.Device(), Unproven: true, TileBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for launch := range 2 {
		elems := int64(rnd.Intn(400))
		if l.Even() {
			elems -= elems % int64(g.Coll.Chunks)
		}
		b := data.New(data.NewGeometry(g.Coll, elems, 4), data.I32, data.Sum, rnd.Uint64())
		args := executor.DataArgs(b)
		args.Threads, args.TileBytes, args.Replicas = 1, int64(16+rnd.Intn(200)), 1+rnd.Intn(2)
		if _, err := l.Run(t.Context(), args); err != nil {
			t.Fatalf("launch %d: %v", launch, err)
		}
		if report := b.Check(); report.Err() != nil {
			t.Fatalf("launch %d: %v", launch, report.Err())
		}
	}
}

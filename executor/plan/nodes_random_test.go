//go:build cgo && linux

package plan_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"mscclc/codegen"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	irfifo "mscclc/ir/fifo"
	"mscclc/ir/irtest"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
	"mscclc/passes/core"
	"mscclc/passes/fifo"
	"mscclc/passes/slots"
	"mscclc/transport"
	"mscclc/transport/enginetest"
)

// These tests run random programs over several nodes, whose messages the engine of tests delays and has overtake each
// other. Each rank is a process.

// lies returns the layout in which each rank is a process.
func lies(node []int32) (l layout) {
	for r, n := range node {
		l.ranks, l.node = append(l.ranks, []int{r}), append(l.node, fmt.Sprint("n", n))
	}
	return l
}

// randomAcross compiles a random program for nodes: a two-sided one that is lowered, or a one-sided one. It is nil
// where hints do not fit, or slots are too few.
func randomAcross(t *testing.T, rnd *rand.Rand, lowered bool) (p *either.Program, node []int32) {
	t.Helper()
	c := irtest.Random(rnd, irtest.Config{Ops: 10 + rnd.Intn(40)})
	node = irtest.Nodes(rnd, c.Coll.Ranks)
	var one *onesided.Program
	var err error
	if !lowered {
		one, err = core.Lower(c, core.Options{Nodes: node, OnePass: rnd.Intn(4) == 0, Lanes: 1 + rnd.Intn(4)})
	} else {
		c.Protocol = ir.Simple
		var d *ir.InstDAG
		var two *irfifo.Program
		if d, err = fifo.Lower(c, fifo.Options{Instances: 1 + rnd.Intn(2)}); err == nil {
			err = fifo.Run(d, fifo.Options{})
		}
		if err == nil {
			two, err = codegen.Assemble(d)
		}
		opt := slots.Options{Slots: 1 + rnd.Intn(3), Depth: 1 + rnd.Intn(3)}
		if err == nil {
			_, found := verify.Check(either.OfFifo(two), verify.Options{Slots: opt.Slots, MessageChunks: ir.WholeSteps})
			err = found.Err() // as of a program that needs more slots
		}
		if err == nil {
			one, err = slots.Lower(two, opt)
		}
	}
	var list diag.List
	if errors.As(err, &list) {
		return nil, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return either.OfOneSided(one), node
}

// runAcross has a call of each of some sizes be made, and returns what was wrong with it.
func runAcross(t *testing.T, p *either.Program, node []int32, rnd *rand.Rand, calls int) error {
	t.Helper()
	tile := int64(512)
	if p.OneSided.OnePass {
		tile = 8 << 10 // a chunk
	}
	list, errs := prepare(t.Context(), p, lies(node), 2, tile)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	defer each(len(list), func(i int) error { return errors.Join(list[i].Close(), list[i].stream.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range calls {
		elems, replicas := int64(rnd.Intn(900)), rnd.Intn(3)
		dt, op, times := data.DType(rnd.Intn(int(data.NumDTypes))), data.Sum, 1
		if dt == data.F16 || dt == data.E4M3 || dt == data.E5M2 { // sums of sums soon have no room there
			op = data.Max
		}
		if !p.Coll.Inplace && !p.ModifiesInput() {
			times += rnd.Intn(3)
		}
		if p.Even {
			elems -= elems % int64(p.Coll.Chunks)
		}
		if err := errors.Join(each(len(list), func(i int) error {
			return list[i].run(ctx, elems, dt, op, replicas, times)
		})...); err != nil {
			return fmt.Errorf("%d elements of %v, %d replicas: %w", elems, dt, replicas, err)
		}
	}
	return nil
}

// reordered has an engine carry messages that waits for as long as a number of ns says.
func reordered(t *testing.T, delay int) {
	enginetest.Use()
	t.Setenv(transport.NetVariable, fmt.Sprintf("test:random%d,seed=%d,delay=%d", delay, delay, delay))
}

// TestNodesRandom runs random programs that are proven for their nodes: all are right. MSCCLC_RANDOM=N asks for N, and
// MSCCLC_SEED=K begins with the K-th.
func TestNodesRandom(t *testing.T) {
	ran, first, n := 0, irtest.First(t), irtest.Count(t, covering.Share(400))
	for seed := first; seed < first+n; seed++ {
		rnd := rand.New(rand.NewSource(int64(seed)))
		p, node := randomAcross(t, rnd, seed%2 == 0)
		if p == nil {
			continue
		}
		_, found := verify.Check(p, verify.Options{})
		if found = append(found, verify.AcrossNodes(p, node)...); len(found) > 0 {
			t.Fatalf("seed %d, nodes %v: %v", seed, node, found)
		}
		reordered(t, []int{0, 2000, 20000, 200000}[seed%4])
		if err := runAcross(t, p, node, rnd, 2); err != nil {
			t.Fatalf("seed %d, nodes %v: %v", seed, node, err)
		}
		ran++
	}
	t.Logf("%d of %d random programs ran over nodes, all right", ran, n)
	if ran < n/2 {
		t.Error("too few ran")
	}
}

// TestNodesThird has a third rank signal data that another node has sent, in lowered programs. verify rejects them
// all, and some go wrong when they run nevertheless.
func TestNodesThird(t *testing.T) {
	broken, wrong, n := 0, 0, irtest.Count(t, covering.Share(1000))
	reordered(t, 1000000)
	for seed := range n {
		rnd := rand.New(rand.NewSource(int64(seed)))
		p, node := randomAcross(t, rnd, true)
		if p == nil {
			continue
		}
		q := irtest.ViaThird(p, node, int32(rnd.Intn(len(node))))
		if q == nil {
			continue
		}
		if _, found := verify.Check(q, verify.Options{}); len(found) > 0 {
			continue // in one node it is wrong, too
		}
		broken++
		if found := verify.AcrossNodes(q, node); len(found) == 0 || found[0].Code != diag.AcrossNodes {
			t.Fatalf("seed %d, nodes %v: a third rank tells of data, and the proof says %v", seed, node, found)
		}
		switch err := runAcross(t, q, node, rnd, 3); {
		case err == nil:
		case strings.Contains(err.Error(), "elements are wrong"):
			wrong++
		default:
			t.Fatalf("seed %d, nodes %v: %v", seed, node, err)
		}
	}
	t.Logf("of %d programs that rely on a third rank, all are rejected, and %d gave wrong data", broken, wrong)
	if broken < n/10 || wrong == 0 {
		t.Error("the programs show nothing")
	}
}

package gputest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"testing"

	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/irtest/parse"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/passes/core"
)

// testRandom runs random one-sided programs at sizes at random, down to none for some chunks, of any type, some in
// memory that is aligned to its elements alone, in replicas and passes that are few or many.
func testRandom(t *testing.T, d Device) {
	types := []data.DType{data.I32, data.U8, data.BF16, data.F32, data.F64, data.E4M3, data.I64}
	compared, n := 0, irtest.Count(t, d.times(covering.Share(60), 250))
	for seed := range n {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{Ops: 1 + rnd.Intn(30)})
		c.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
		p, err := core.Lower(c, core.Options{Lanes: 1 + seed%4})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if _, found := verify.Check(either.OfOneSided(p), verify.Options{}); len(found) > 0 {
			t.Fatalf("seed %d: %v", seed, found)
		}
		opt := plan.Options{GPUs: d.Open(numbers()...), Replicas: 1 + rnd.Intn(3), TileBytes: int64(16 << rnd.Intn(9)),
			Types: types}
		r := mustRig(t, d, either.OfOneSided(p), opt)
		for range 4 {
			dt, op := types[rnd.Intn(len(types))], []data.RedOp{data.Sum, data.Max, data.Min}[rnd.Intn(3)]
			r.skew = rnd.Intn(2) * rnd.Intn(16/dt.Size())
			elems := int64(rnd.Intn(1 + 64<<rnd.Intn(8)))
			if r.plan.Even() {
				elems -= elems % int64(p.Coll.Chunks)
			}
			threads := []int{0, 64, 128}[rnd.Intn(3)]
			err := r.once(soon(t), dt, op, elems, func(a *plan.CallArgs) { a.Threads = threads })
			switch {
			case err == nil:
				compared++
			case !errors.Is(err, errNothing): // few elements may all be of chunks that nothing is required of
				var b bytes.Buffer
				text.WriteProgram(&b, either.OfOneSided(p))
				t.Fatalf("seed %d, %+v, skew %d, %d threads: %v\n%s", seed, opt, r.skew, threads, err, b.String())
			}
		}
	}
	if compared < 2*n {
		t.Errorf("%d of %d runs compared something", compared, 4*n)
	}
}

// testOrder runs programs in which a Move that unpacks waits for one beside it that does so, by way of another rank:
// one that goes on when it has seen its packets, and one that goes on with its next step.
func testOrder(t *testing.T, d Device) {
	const echo = `program echo
collective alltoall ranks=2 chunks=1
protocol LL
scratch 3
onesided depth 2
packets 5
flags 0
block 0.0
  0 mv input[0] -> output[0]
  1 mv input[1] -> 1:packets[4] joint
  2 mv packets[0] -> output[1] 1:packets[0]
  3 mv packets[1] -> scratch[0] 1:packets[1] joint
  4 mv packets[2] -> scratch[1] 1:packets[2] joint
  5 mv packets[3] -> scratch[2] joint
block 1.0
  0 mv input[1] -> output[1]
  1 mv packets[4] -> output[0] joint
  2 mv input[0] -> 0:packets[0]
%s`
	for name, steps := range map[string]string{
		"at once": `  3 mv packets[0] -> scratch[0] 0:packets[1] joint
  4 mv packets[1] -> scratch[1] 0:packets[2] joint
  5 mv packets[2] -> scratch[2] 0:packets[3] joint
`,
		"step by step": `  3 mv packets[0] -> scratch[0]
  4 mv input[0] -> 0:packets[1] joint
  5 mv packets[1] -> scratch[1]
  6 mv input[0] -> 0:packets[2] joint
  7 mv packets[2] -> scratch[2]
  8 mv input[0] -> 0:packets[3] joint
`,
	} {
		p, err := parse.Program(name, fmt.Appendf(nil, echo, steps))
		if err != nil {
			t.Fatal(err)
		}
		if _, found := verify.Check(p, verify.Options{}); len(found) > 0 {
			t.Fatal(name, found)
		}
		r := mustRig(t, d, p, plan.Options{GPUs: d.Open(numbers()...)})
		for _, elems := range []int64{8, 3000, 20000} {
			if err := r.once(soon(t), data.I32, data.Sum, elems, nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

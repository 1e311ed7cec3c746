package mscclc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"mscclc"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/passes/fifo"
)

// Each program made MSCCLang, the compiler that mscclc follows, fail: a wrong
// result, a hang, a crash or an endless compilation, all with its own check
// passed. Here each compiles and runs with 0 wrong, or is refused with the
// code named.
var faults = []struct {
	name, what, source string
	refused            diag.Code
	target             string
	off                string // a pass
	check              func(p *either.Program) error
}{
	{name: "remote reduce of another place", what: "read the sender's offset in the receiver's memory", source: `
algorithm r1(ranks = 2)
collective custom(ranks, input = 4, output = 1) {
    require chunk(0, output, 0) == sum([chunk(0, input, 2), chunk(1, input, 3)])
}
let c = chunk(0, input, 2).copy(0, output, 0)
c.reduce(chunk(1, input, 3))
`},
	{name: "rrs with a partial overwrite", what: "lost the reduction of the chunks that were not overwritten", source: `
algorithm r2(ranks = 3)
collective custom(ranks, input = 2, output = 2) {
    for i in 0..2 { require chunk(2, output, i) == sum([chunk(0, input, i), chunk(1, input, i)]) }
    require chunk(1, output, 0) == chunk(2, input, 0)
    require chunk(1, output, 1) == sum([chunk(0, input, 1), chunk(1, input, 1)])
}
let a = chunk(1, input, 0, 2).copy(1, output, 0)
let b = a.reduce(chunk(0, input, 0, 2))
b.copy(2, output, 0)
chunk(2, input, 0).copy(1, output, 0)
`},
	{name: "copy to output without an index", what: "wrote offset -1", source: `
algorithm r3(ranks = 2)
collective custom(ranks, input = 2, output = 2) {
    for r in 0..ranks, i in 0..2 { require chunk(r, output, i) == chunk(1 - r, input, i) }
}
for r in 0..ranks, i in 0..2 { chunk(r, input, i).copy(1 - r, output) }
`},
	{name: "sixteen sends, then sixteen receives", what: "deadlocked with eight slots", source: `
algorithm r4(ranks = 2)
collective alltoall(ranks, chunks = 16)
protocol LL
for r in 0..ranks, i in 0..16 {
    chunk(r, input, (1 - r) * 16 + 15 - i).copy(1 - r, output, r * 16 + 15 - i, sendtb = 0, recvtb = 0, ch = 0)
}
for r in 0..ranks { chunk(r, input, r * 16, 16).copy(r, output, r * 16) }
`},
	{name: "a stale reference", what: "silently moved the newer data", refused: diag.Stale, source: `
algorithm r9(ranks = 2)
collective custom(ranks, input = 2, output = 2) { require chunk(1, output, 0) == chunk(0, input, 0) }
let c = chunk(0, input, 0).copy(0, output, 0)
chunk(0, input, 1).copy(0, output, 0)
c.copy(1, output, 0)
`},
	{name: "dependences of reductions moved up", what: "deadlocked on a later reduction that depends on an earlier one", source: `
algorithm r10(ranks = 2)
collective custom(ranks, input = 2, output = 2) {
    require chunk(0, output, 0) == sum([chunk(0, input, 0), chunk(1, input, 0)])
    require chunk(0, output, 1) == sum([chunk(0, input, 1), chunk(0, input, 0), chunk(1, input, 0)])
}
scratch a[1]
scratch b[1]
chunk(1, input, 0).copy(0, a, 0)
let c = chunk(0, input, 0).copy(0, output, 0).reduce(chunk(0, a, 0))
c.copy(1, a, 0).copy(0, b, 0)
chunk(0, input, 1).copy(0, output, 1).reduce(chunk(0, b, 0))
`},
	{name: "more than 32 fused flows", what: "ran out of channels and crashed", source: `
algorithm r12(ranks = 80)
collective custom(ranks, input = 1, output = 80) {
    for i in 2..41 { require chunk(i + 39, output, i) == chunk(0, input, 0) }
}
for i in 2..41 { chunk(0, input, 0).copy(1, output, i).copy(i + 39, output, i) }
`},
	{name: "in-place AllToAll", what: "raced", refused: diag.NotInPlace, source: `
algorithm r18(ranks = 2)
collective alltoall(ranks, inplace = true)
for r in 0..ranks, q in 0..ranks { chunk(r, input, q).copy(q, output, r) }
`},
	{name: "a local reduction first", what: "dropped the whole program", source: `
algorithm s1(ranks = 2)
collective custom(ranks, input = 2, output = 2) {
    require chunk(1, output, 0) == sum([chunk(0, input, 0), chunk(0, input, 1)])
}
reduce([chunk(0, input, 0), chunk(0, input, 1)], 0, output, 0).copy(1, output, 0)
`},
	{name: "a last chunk that nothing uses", what: "made every chunk larger", target: "msccl", source: `
algorithm s2(ranks = 2)
collective custom(ranks, input = 4, output = 4) { require chunk(1, output, 0) == chunk(0, input, 0) }
chunk(0, input, 0).copy(1, output, 0)
`, check: func(p *either.Program) error {
		if p.Coll.Divisor() != 4 || p.Coll.InChunks(0) != 4 {
			return fmt.Errorf("%d chunks of %d", p.Coll.InChunks(0), p.Coll.Divisor())
		}
		return nil
	}},
	{name: "ch left out after it was given", what: "moved the block back to channel 0", source: `
algorithm s3(ranks = 2)
collective custom(ranks, input = 2, output = 2) {
    for i in 0..2 { require chunk(1, output, i) == chunk(0, input, i) }
}
chunk(0, input, 1).copy(1, output, 1, sendtb = 0, recvtb = 0, ch = 1)
chunk(0, input, 0).copy(1, output, 0, sendtb = 0, recvtb = 0)
`, check: func(p *either.Program) error {
		for _, b := range p.Blocks {
			if b.Channel != 1 {
				return fmt.Errorf("a block is on channel %d", b.Channel)
			}
		}
		return nil
	}},
	{name: "diamonds", off: "drop", what: "took exponential time: 8 of them 21 s", source: `
algorithm expo(ranks = 1)
collective custom(ranks, input = 1, output = 3) {
    for i in 0..3 { require chunk(0, output, i) == chunk(0, input, 0) }
}
let c = chunk(0, input, 0).copy(0, output, 0)
for i in 0..400 {
    let left = c.copy(0, output, 1)
    let right = c.copy(0, output, 2)
    c = left.copy(0, output, 0)
}
`},
	{name: "a chain of 5,000 hops", what: "overflowed the stack at 600", source: `
algorithm deep(ranks = 4)
collective custom(ranks, input = 1, output = 1) { require chunk(0, output, 0) == chunk(0, input, 0) }
let c = chunk(0, input, 0)
for i in 1..5001 { c = c.copy(i % ranks, output, 0) }
`},
	{name: "mixed counts in instances", what: "got 87 % of such programs wrong", source: `
algorithm mixed(ranks = 4)
collective allgather(ranks, chunks = 2, inplace = true)
parallelize(3) {
    for r in 0..ranks { chunk(r, input, 0, 2).copy((r + 1) % ranks, output, r * 2) }
}
parallelize(2) {
    for r in 0..ranks, i in 0..2 { chunk((r + 1) % ranks, output, r * 2 + i).copy((r + 2) % ranks, output, r * 2 + i) }
}
for r in 0..ranks { chunk((r + 2) % ranks, output, r * 2, 2).copy((r + 3) % ranks, output, r * 2) }
`},
	{name: "two flows that part", what: "put one connection into two blocks, or its ends on two channels", source: `
algorithm parting(ranks = 5)
collective custom(ranks, input = 4, output = 4) {
    for i in 0..4 { require chunk(2 + i % 3, output, i) == chunk(i % 2, input, i) }
}
scratch s[4]
for i in 0..4 { chunk(i % 2, input, i).copy(1 - i % 2, s, i).copy(2 + i % 3, output, i) }
`},
}

func TestFaultsOfMSCCLang(t *testing.T) {
	for _, f := range faults {
		t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) {
			if f.target == "" {
				f.target = "program"
			}
			target, err := codegen.TargetByName(f.target)
			if err != nil {
				t.Fatal(err)
			}
			off := map[string]bool{}
			if f.off != "" {
				off[f.off] = true
			}
			start := time.Now()
			p, err := mscclc.Compile(f.name, []byte(f.source),
				mscclc.Options{Lang: lang.Options{Open: os.ReadFile}, Target: target, Passes: fifo.Options{Off: off}})
			if f.refused != "" {
				var l diag.List
				if !errors.As(err, &l) || l[0].Code != f.refused {
					t.Fatalf("%s: got %v, want it refused as %s", f.what, err, f.refused)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", f.what, err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%s: took %v", f.what, took)
			}
			if f.check != nil {
				if err := f.check(p); err != nil {
					t.Errorf("%s: %v", f.what, err)
				}
			}
			runFault(t, p)
		})
	}
}

func runFault(t *testing.T, p *either.Program) {
	r, err := execute(p, 8*int64(p.Coll.Chunks), executor.Options{}, func(*executor.Args) {})
	if err != nil {
		t.Fatal(err)
	}
	if r.Err() != nil {
		t.Error(r.Err())
	}
}

// execute runs p once on the CPU, on random integers in pieces of elems, and
// compares every element. set may change the call.
func execute(p *either.Program, elems int64, opt executor.Options, set func(*executor.Args)) (data.Report, error) {
	opt.Device = cpu.Device()
	l, err := executor.Load(p, opt)
	if err != nil {
		return data.Report{}, err
	}
	defer l.Close()
	buffers := data.New(data.NewGeometry(p.Coll, elems, 4), data.I32, data.Sum, 1)
	args := executor.DataArgs(buffers)
	args.Wait = time.Minute
	set(&args)
	if _, err := l.Run(context.Background(), args); err != nil {
		return data.Report{}, err
	}
	return buffers.Check(), nil
}

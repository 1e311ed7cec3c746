//go:build cgo

package cpu

import (
	"context"
	"errors"
	"testing"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// oneHolder is the CPU, and remembers the instance that it made.
type oneHolder struct{ *oneInstance }

func (oneHolder) Name() string { return "cpu" }

func (h *oneHolder) Open(img *abi.Image) (executor.Instance, error) {
	in, err := device{}.Open(img)
	h.oneInstance, _ = in.(*oneInstance)
	return in, err
}

// begin makes the instance as if every replica had done a number of passes: states,
// and flags that were signalled as often. Launches it leaves as they are.
func (in *oneInstance) begin(passes uint64) {
	for i := range in.states {
		in.states[i].Passes = passes
	}
	for i := range in.img.Blocks {
		b := &in.img.Blocks[i]
		for _, s := range in.img.Steps[b.FirstStep : b.FirstStep+b.Steps] {
			if ir.Op(s.Op) != ir.Signal || ir.StepFlags(s.Flags)&(ir.Enter|ir.Leave) != 0 {
				continue
			}
			for _, o := range in.img.Operands[b.FirstOperand+s.First:][:s.Dsts] {
				for c := range uint64(in.img.Replicas) {
					in.setFlag(int(o.Rank), c, uint64(o.Index), passes*uint64(o.B))
				}
			}
		}
	}
}

// TestOneSidedRenews comes to where packets' flags begin anew, with slots that hold the
// flags of the passes after it since an earlier period: long passes fill every copy with the first
// flags of all, short ones lead up to the end of a period, and long ones after it
// have the same flags in the same copies.
func TestOneSidedRenews(t *testing.T) {
	for _, p := range []*either.Program{
		onePhase(2, 1, ir.LL, 2, true), onePhase(3, 2, ir.LL, 1, false), twoPhases(3, 1, true),
		gather(3, 2, false), push(3, true)} {
		for _, perBlock := range []int{0, 2} {
			h := &oneHolder{}
			l := loadOne(t, p, executor.Options{Device: h, Replicas: 2, TileBytes: 4096})
			long := int64(p.OneSided.Depth) * 2 * 4096 / 4 * int64(p.Coll.Chunks) // passes by replicas by elements
			run := func(elems int64, seed uint64) {
				t.Helper()
				d := data.New(data.NewGeometry(p.Coll, elems, 4), data.I32, data.Sum, seed)
				args := executor.DataArgs(d)
				args.Replicas, args.PerBlock = 2, perBlock
				if _, err := l.Run(context.Background(), args); err != nil {
					t.Fatal(err)
				}
				rep := d.Check()
				if err := rep.Err(); err != nil {
					t.Errorf("%s, %d elements: %v", p.Name, elems, err)
				}
			}
			run(long, 1)
			for end := uint64(2 * abi.OnePeriod); end <= 4*abi.OnePeriod; end += 2 * abi.OnePeriod {
				h.begin(end - 2)
				run(5, end)
				run(6, end)
				if at := h.states[0].Passes; at != end {
					t.Fatalf("%s is at pass %d, not %d", p.Name, at, end)
				}
				run(long, end)
				run(7, end)
			}
		}
	}
}

// TestOneSidedRepeated runs one loaded program again and again, over changes of size,
// tile, replicas and mode, and through launches that are cancelled.
func TestOneSidedRepeated(t *testing.T) {
	for _, p := range []*either.Program{onePhase(3, 1, ir.LL, 2, true), onePhase(3, 1, ir.Simple, 1, true),
		twoPhases(3, 2, false), push(3, true)} {
		l := loadOne(t, p, executor.Options{Replicas: 5, TileBytes: 512})
		for i := range 150 {
			if i%40 == 39 {
				ctx, cancel := context.WithCancelCause(context.Background())
				go cancel(errors.New("enough"))
				d := data.New(data.NewGeometry(p.Coll, 40000, 4), data.I32, data.Sum, 1)
				args := executor.DataArgs(d)
				args.TileBytes, args.Replicas = 16, 1
				l.Run(ctx, args) // ends either way
				cancel(nil)
			}
			check(t, l, p.Coll, data.I64, data.Sum, int64(i*i%331), func(a *executor.Args) {
				a.Replicas, a.TileBytes, a.PerBlock = 1+i/3%5, int64(16<<(i/7%6)), i/50%2
			})
		}
	}
}

// TestOneSidedTimeouts runs programs that wait for what never comes, in blocks that are
// fibers and in blocks of threads, again and again, and with several replicas.
func TestOneSidedTimeouts(t *testing.T) {
	make := func(proto ir.Protocol, steps func(b *oneProgram)) *either.Program {
		b := newOne("broken", allReduce(2, 1, false), proto, 2, 2, map[bool]int{true: 2}[proto != ir.Simple], 4)
		steps(b)
		return b.program()
	}
	flag := func(nth int) onesided.Operand {
		o := at(0, ir.Flags, 1)
		o.Nth = int32(nth)
		return o
	}
	for _, x := range []struct {
		name string
		p    *either.Program
		want string
	}{
		{"a flag nobody signals", make(ir.Simple, func(b *oneProgram) {
			b.move(0, 1, 0, ops(at(0, ir.Input, 0)), ops(at(0, ir.Scratch, 0)), 0)
			b.add(0, ir.Await, ops(flag(1)), nil, 0)
		}), "broken.mscl:1:2: error: rank 0 block 0 step 1 (wait): waited * for signal 1 of flag 1 of rank 0, have 0 [timeout]"},
		{"a flag signalled once", make(ir.Simple, func(b *oneProgram) {
			b.add(0, ir.Await, ops(flag(2)), nil, 0)
			b.add(1, ir.Signal, nil, ops(at(0, ir.Flags, 1)), 0)
		}), "broken.mscl:1:1: error: rank 0 block 0 step 0 (wait): waited * for signal 2 of flag 1 of rank 0 from rank 1 block 0 step 0, have 1 [timeout]"},
		{"packets nobody sends", make(ir.LL, func(b *oneProgram) {
			b.move(1, 1, 0, ops(at(1, ir.Input, 0), at(1, ir.Packets, 1)), ops(at(1, ir.Output, 0)), 0)
		}), "broken.mscl:2:1: error: rank 1 block 0 step 0 (mv): waited * for packets 1 of rank 1, which have none [timeout]"},
		{"packets after a wait", make(ir.LL, func(b *oneProgram) {
			b.move(0, 1, 0, ops(at(0, ir.Packets, 0)), ops(at(1, ir.Packets, 1)), 0)
			b.move(1, 1, 0, ops(at(1, ir.Input, 0)), ops(at(1, ir.Output, 0)), 0)
			b.move(1, 1, 0, ops(at(1, ir.Packets, 1)), ops(at(1, ir.Scratch, 0)), ir.Joint)
		}), "broken.mscl:1:1: error: rank 0 block 0 step 0 (mv): waited * for packets 0 of rank 0, which have none [timeout]\n" +
			"broken.mscl:2:2: error: rank 1 block 0 step 1 (mv): waited * for packets 1 of rank 1 from rank 0 block 0 step 0, which have none [timeout]"},
	} {
		t.Run(x.name, func(t *testing.T) {
			l, err := executor.Load(x.p, executor.Options{Device: Device(), Unproven: true})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for _, per := range []int{0, 0, 3, 0} {
				d := data.New(data.NewGeometry(x.p.Coll, 400, 4), data.F32, data.Sum, 1)
				args := executor.DataArgs(d)
				args.PerBlock, args.Replicas = per, 1
				timesOut(t, l, args, x.want)
				if rep := d.Check(); len(rep.Broken) > 0 {
					t.Errorf("buffers: %v", rep.Broken)
				}
			}
		})
	}
}

// TestOneSidedLaterPass names pass and replica: of three passes, the last awaits a
// signal of a fourth.
func TestOneSidedLaterPass(t *testing.T) {
	b := newOne("later", allReduce(2, 1, false), ir.Simple, 1, 0, 0, 1)
	next := at(0, ir.Flags, 0)
	next.Nth = 2
	b.add(0, ir.Await, ops(next), nil, 0)
	b.add(1, ir.Signal, nil, ops(at(0, ir.Flags, 0)), 0)
	l, err := executor.Load(b.program(), executor.Options{Device: Device(), Unproven: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := data.New(data.NewGeometry(b.p.Coll, 2*3*16, 1), data.U8, data.Sum, 1)
	args := executor.DataArgs(d)
	args.Replicas, args.TileBytes, args.Threads = 2, 16, 1
	timesOut(t, l, args,
		"later.mscl:1:1: error: rank 0 block 0 step 0 (wait): waited * for signal 4 of flag 0 of rank 0 from rank 1 block 0 step 0, have 3 (pass 2) (replica 0) [timeout]")
}

// TestOneSidedStacks bounds what the kernel uses of a fiber's stack.
func TestOneSidedStacks(t *testing.T) {
	for _, p := range []*either.Program{twoPhases(3, 1, true), push(3, true)} {
		h := &oneHolder{}
		l := loadOne(t, p, executor.Options{Device: h})
		for dt := range data.NumDTypes {
			for op := range data.NumRedOps {
				check(t, l, p.Coll, dt, op, 3*4000, nil)
			}
		}
		if used, of := stackUse(&h.stacks); used < 1<<10 || used > of/2 {
			t.Errorf("%s: %d bytes of a stack of %d were used", p.Name, used, of)
		} else {
			t.Logf("%s: %d bytes of a stack of %d were used", p.Name, used, of)
		}
	}
}

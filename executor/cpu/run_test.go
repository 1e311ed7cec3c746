//go:build cgo

package cpu

import (
	"context"
	"fmt"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
)

func load(t testing.TB, p *either.Program) *executor.Loaded {
	t.Helper()
	l, err := executor.Load(p, executor.Options{Device: Device()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// check runs a program and compares every element; it fails if nothing was
// compared where something should be.
func check(t testing.TB, l *executor.Loaded, c *ir.Collective, dt data.DType, op data.RedOp, elems int64,
	set func(*executor.Args)) {
	t.Helper()
	d := data.New(data.NewGeometry(c, elems, dt.Size()), dt, op, uint64(elems)*31+uint64(dt)*7+uint64(op))
	args := executor.DataArgs(d)
	args.Wait = 20 * time.Second
	if set != nil {
		set(&args)
	}
	if _, err := l.Run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	rep := d.Check()
	if err := rep.Err(); err != nil {
		t.Fatal(err)
	}
	if elems > 0 && rep.Checked == 0 {
		t.Fatal("nothing was compared")
	}
}

// programs returns the hand-built programs, each with ranks odd and even, in place
// and out of place.
func programs() []*either.Program {
	var list []*either.Program
	for _, inplace := range []bool{false, true} {
		for _, ranks := range []int{2, 3, 8} {
			list = append(list, ringAllReduce(ranks, inplace))
		}
		list = append(list, ringAllGather(2, 1, inplace), ringAllGather(5, 3, inplace))
		list = append(list, allPairs(2, 1, inplace), allPairs(4, 3, inplace), allPairs(7, 1, inplace))
	}
	return append(list, allToAll(4, 5), allToAll(3, 1))
}

func name(p *either.Program) string { return fmt.Sprintf("%s-inplace=%v", p.Name, p.Coll.Inplace) }

// count returns the most chunks that one step of p moves.
func count(p *either.Program) int {
	most := 0
	for i := range p.Steps {
		most = max(most, int(p.Steps[i].Count))
	}
	return most
}

// TestSizes runs every program with every protocol at sizes that divide by
// nothing, with small slots and tiles, so that messages, groups and tiles are
// many and uneven.
func TestSizes(t *testing.T) {
	for _, p := range programs() {
		t.Run(name(p), func(t *testing.T) {
			l := load(t, p)
			for proto := range ir.NumProtocols {
				for _, elems := range []int64{0, 1, 2, 3, 17, 1000, 40009} {
					for _, slot := range []int64{16, 1 << 10, 0} {
						slots := 0
						if count(p) > 1 {
							slots = 8 // what these programs need where each chunk is a message
						}
						if slot == 16 && elems > 1000 {
							continue
						}
						check(t, l, p.Coll, data.I32, data.Sum, elems, func(a *executor.Args) {
							a.Protocol, a.SlotBytes, a.TileBytes, a.Slots = &proto, slot, slot/2, slots
						})
						check(t, l, p.Coll, data.U8, data.Max, elems, func(a *executor.Args) {
							a.Protocol, a.SlotBytes, a.Threads, a.Slots = &proto, slot, 1, slots
						})
					}
				}
			}
		})
	}
}

// TestTypes runs every type with every reduction.
func TestTypes(t *testing.T) {
	for _, p := range []*either.Program{ringAllReduce(5, true), allPairs(4, 1, false)} {
		l := load(t, p)
		for dt := range data.NumDTypes {
			for op := range data.NumRedOps {
				t.Run(fmt.Sprintf("%s-%s-%s", p.Name, dt, op), func(t *testing.T) {
					for proto := range ir.NumProtocols {
						check(t, l, p.Coll, dt, op, 4003, func(a *executor.Args) { a.Protocol = &proto })
					}
				})
			}
		}
	}
}

// TestLarge runs a million and three elements, with the usual slots.
func TestLarge(t *testing.T) {
	for i, p := range []*either.Program{ringAllReduce(4, true), ringAllGather(3, 2, false), allPairs(3, 2, true),
		allToAll(3, 2)} {
		l := load(t, p)
		for proto := range ir.NumProtocols {
			if i == 0 || i == int(proto) {
				check(t, l, p.Coll, data.F32, data.Sum, 1000003, func(a *executor.Args) { a.Protocol = &proto })
			}
		}
	}
}

// TestBlockThreads runs blocks of several threads, with barriers.
func TestBlockThreads(t *testing.T) {
	for _, p := range []*either.Program{ringAllReduce(3, true), allPairs(3, 2, false)} {
		l := load(t, p)
		for proto := range ir.NumProtocols {
			for _, per := range []int{1, 4} {
				check(t, l, p.Coll, data.F32, data.Sum, 20011, func(a *executor.Args) {
					a.Protocol, a.PerBlock, a.SlotBytes = &proto, per, 1<<14
				})
			}
		}
	}
}

// TestRepeated runs one loaded program again and again, over changes of size,
// protocol, slots and mode.
func TestRepeated(t *testing.T) {
	p := allPairs(3, 1, true)
	l := load(t, p)
	for i := range 200 {
		proto := ir.Protocol(i / 7 % int(ir.NumProtocols))
		check(t, l, p.Coll, data.I64, data.Sum, int64(i*i%331), func(a *executor.Args) {
			a.Protocol, a.Slots, a.SlotBytes = &proto, i/5%3, int64(16<<(i/11%5))
			a.PerBlock = i / 50 % 2
		})
	}
}

// TestManyRanks puts the blocks of 64 ranks on two threads.
func TestManyRanks(t *testing.T) {
	for _, p := range []*either.Program{ringAllReduce(64, true), allPairs(64, 1, true), ringAllGather(64, 1, false)} {
		l := load(t, p)
		for _, proto := range []ir.Protocol{ir.Simple, ir.LL} {
			check(t, l, p.Coll, data.F32, data.Sum, 64*30+1, func(a *executor.Args) { a.Protocol, a.Threads = &proto, 2 })
		}
	}
}

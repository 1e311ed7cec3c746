//go:build cgo

package cpu

import (
	"fmt"
	"testing"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/either"
)

func loadOne(t testing.TB, p *either.Program, opt executor.Options) *executor.Loaded {
	t.Helper()
	if opt.Device == nil {
		opt.Device = Device()
	}
	l, err := executor.Load(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// onePrograms returns the hand-written one-sided programs.
func onePrograms() []*either.Program {
	var list []*either.Program
	for _, inplace := range []bool{false, true} {
		list = append(list, onePhase(2, 1, ir.LL, 2, inplace), onePhase(5, 3, ir.LL16, 2, inplace),
			onePhase(3, 1, ir.Simple, 2, inplace), onePhase(4, 2, ir.Simple, 1, inplace), onePhase(3, 2, ir.LL128, 1, inplace),
			twoPhases(2, 1, inplace), twoPhases(4, 3, inplace), twoPhases(8, 1, inplace), push(2, inplace), push(7, inplace),
			throughSwitch(3, inplace), gather(2, 1, inplace), gather(5, 3, inplace))
	}
	return append(list, pull(2, ir.ViaMemory), pull(6, ir.ViaPort), pull(3, ir.ViaSwitch), onePhase(20, 1, ir.LL, 2, true))
}

// TestOneSided runs every program at sizes that divide by nothing, in replicas and
// passes that are many and uneven, with threads of their own and without; memory
// that is made for little too.
func TestOneSided(t *testing.T) {
	turn, period := 0, 1
	if !covering.CI() {
		period = 5
	}
	for i, p := range onePrograms() {
		t.Run(fmt.Sprintf("%s-%v-%v", p.Name, p.Protocol, p.Coll.Inplace), func(t *testing.T) {
			for _, room := range []executor.Options{{}, {Replicas: 3, TileBytes: 48}} {
				l := loadOne(t, p, room)
				for k, elems := range []int64{0, 1, 2, 3, 17, 1000, 40009} {
					for replicas := range 4 {
						if turn++; room.TileBytes > 0 && elems > 1000 || !covering.Takes(turn, period) {
							continue
						}
						check(t, l, p.Coll, data.I32, data.Sum, elems, func(a *executor.Args) {
							a.Replicas, a.TileBytes = replicas, int64(16<<((i+k+replicas)%5*2))
						})
						check(t, l, p.Coll, data.U8, data.Max, elems, func(a *executor.Args) { a.Replicas, a.Threads = replicas, 1 })
					}
				}
				check(t, l, p.Coll, data.F32, data.Avg, 1003,
					func(a *executor.Args) { a.Replicas, a.PerBlock, a.TileBytes = 2, 2, 160 })
			}
		})
	}
}

// TestOneSidedTypes runs every type with every reduction.
func TestOneSidedTypes(t *testing.T) {
	for _, p := range []*either.Program{onePhase(5, 1, ir.LL, 2, true), onePhase(4, 1, ir.Simple, 2, false),
		twoPhases(3, 1, false), throughSwitch(4, true)} {
		l := loadOne(t, p, executor.Options{})
		for dt := range data.NumDTypes {
			for op := range data.NumRedOps {
				check(t, l, p.Coll, dt, op, 4003, nil)
			}
		}
	}
}

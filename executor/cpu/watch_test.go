//go:build cgo

package cpu

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
)

// watched runs p on random numbers and returns how the run ended.
func watched(t *testing.T, p *either.Program, elems int64, w *executor.Watch, set func(*executor.Args)) error {
	t.Helper()
	l, err := executor.Load(p, executor.Options{Device: Device(), Unproven: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := data.New(data.NewGeometry(p.Coll, elems, 8), data.I64, data.Sum, 1)
	args := executor.DataArgs(d)
	args.Watch, args.Wait = w, 20*time.Second
	if set != nil {
		set(&args)
	}
	if _, err := l.Run(context.Background(), args); err != nil {
		return err
	}
	rep := d.Check()
	return rep.Err()
}

// TestWatchRecords runs programs with messages, groups and tiles that divide by
// nothing: every action is recorded once, in the order of its block, and each
// number of the clock is used once; a second run has the same record.
func TestWatchRecords(t *testing.T) {
	for _, p := range programs() {
		for proto := range ir.NumProtocols {
			var first []abi.Action
			for range 2 {
				var w executor.Watch
				err := watched(t, p, 1003, &w, func(a *executor.Args) {
					a.Protocol, a.SlotBytes, a.TileBytes, a.Slots = &proto,
						1<<9, 1<<8, 16
				})
				if err != nil {
					t.Fatalf("%s %v: %v", p.Name, proto, err)
				}
				recorded(t, &w)
				if first == nil {
					first = slices.Clone(w.Actions)
				} else if !slices.Equal(first, w.Actions) {
					t.Errorf("%s %v: two runs have different records", p.Name, proto)
				}
			}
		}
	}
}

func recorded(t *testing.T, w *executor.Watch) {
	t.Helper()
	ticks := make([]bool, 2*len(w.Actions)+1)
	for b := range w.First[1:] {
		last := uint64(0)
		for _, a := range w.Actions[w.First[b]:w.First[b+1]] {
			if a.Begin <= last || a.End <= a.Begin || a.End >= uint64(len(ticks)) || ticks[a.Begin] || ticks[a.End] {
				t.Fatalf("block %d has %+v after %d", b, a, last)
			}
			ticks[a.Begin], ticks[a.End], last = true, true, a.End
		}
	}
	if len(w.Actions) == 0 {
		t.Error("nothing was recorded")
	}
}

// copies returns one rank whose blocks copy input[b] to output[b].
func copies(blocks int) *builder {
	b := newBuilder("copies", &ir.Collective{Kind: ir.Custom, Ranks: 1, Chunks: blocks, In: blocks, Out: blocks}, 1)
	for i := range blocks {
		b.block(0, -1, -1, 0)
		b.step(0, i, ir.Copy, input(i), output(i), 1, 0)
	}
	return b
}

// TestWatchHolds turns the order of blocks round; and where two actions wait for
// each other, the first is let go.
func TestWatchHolds(t *testing.T) {
	order := func(w *executor.Watch) (list []int) {
		if err := watched(t, copies(4).program(), 8, w, nil); err != nil {
			t.Fatal(err)
		}
		for i := range w.Actions {
			list = append(list, i)
		}
		slices.SortFunc(list, func(a, b int) int { return int(w.Actions[a].End) - int(w.Actions[b].End) })
		return list
	}
	for _, x := range []struct {
		hold []executor.Hold
		want []int
	}{
		{nil, []int{0, 1, 2, 3}},
		{[]executor.Hold{{Action: 0, Until: 1}, {Action: 1, Until: 2}, {Action: 2, Until: 3}}, []int{3, 2, 1, 0}},
		{[]executor.Hold{{Action: 1, Until: 3}}, []int{0, 2, 3, 1}},
		{[]executor.Hold{{Action: 1, Until: 2}, {Action: 2, Until: 1}}, []int{0, 3, 1, 2}},
		{[]executor.Hold{{Action: 0, Until: 0}}, []int{1, 2, 3, 0}},
	} {
		w := executor.Watch{Hold: x.hold}
		if got := order(&w); !slices.Equal(got, x.want) {
			t.Errorf("%v: %v, want %v", x.hold, got, x.want)
		}
	}
}

// TestWatchSees follows a chunk of scratch from the poison on.
func TestWatchSees(t *testing.T) {
	b := copies(2)
	b.step(0, 0, ir.Copy, input(1), scratch(0), 1, 1)
	w := executor.Watch{Probe: &executor.Chunk{Buf: ir.Scratch}, Poison: 77}
	if err := watched(t, b.program(), 2, &w, nil); err != nil {
		t.Fatal(err)
	}
	if a := w.Actions; w.FirstSeen != 77 || a[0].Seen != 77 || a[1].Seen == 77 || a[2].Seen != a[1].Seen {
		t.Errorf("the chunk was %d, then %+v", w.FirstSeen, a)
	}
}

// TestWatchEnds ends a run in which nothing can go on, and one that its context
// ends, and refuses what cannot be watched.
func TestWatchEnds(t *testing.T) {
	never := broken(func(b *builder) { b.step(1, 0, ir.Recv, none, output(0), 1, 0) })
	var w executor.Watch
	if err := watched(t, never, 8, &w, nil); !errors.Is(err, executor.ErrStuck) || w.Actions[0].End != 0 {
		t.Errorf("a receive of nothing: %v, %+v", err, w.Actions)
	}
	good := copies(2).program()
	for name, w := range map[string]*executor.Watch{
		"hold of":    {Hold: []executor.Hold{{Action: 2}}},
		"hold until": {Hold: []executor.Hold{{Until: -1}}},
		"probe":      {Probe: &executor.Chunk{Index: 2}},
		"no buffer":  {Probe: &executor.Chunk{Buf: ir.NoBuf}},
	} {
		if err := watched(t, good, 8, w, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := watched(t, good, 8, &executor.Watch{}, func(a *executor.Args) { a.PerBlock = 2 }); err == nil {
		t.Error("blocks of several threads were watched")
	}
	if err := watched(t, good, 1, &executor.Watch{Probe: &executor.Chunk{Index: 1}}, nil); err == nil {
		t.Error("a chunk without elements was looked at")
	}
}

// TestNopSaysNothing has a block wait for a nop that others wait for: it waits
// for the step after it, which is one with it.
func TestNopSaysNothing(t *testing.T) {
	b := copies(3)
	b.step(0, 0, ir.Nop, none, none, 0, 0)
	b.waits(0, 0, 2)
	b.step(0, 0, ir.Copy, input(0), scratch(0), 1, 0)
	b.waits(0, 0, 2)
	b.blocks[0][0].steps[1].Flags = ir.HasDep
	b.blocks[0][0].steps[2].Flags = ir.HasDep
	b.step(0, 1, ir.Copy, input(1), output(1), 1, 1).DepBlock = 0
	b.blocks[0][1].steps[1].DepStep = 1
	p := b.program()
	// the copy after the nop is held for who waits for the nop
	w := executor.Watch{Hold: []executor.Hold{{Action: 2, Until: 4}}}
	if err := watched(t, p, 6, &w, nil); err != nil {
		t.Fatal(err)
	}
	if copied, waiter := w.Actions[2].End, w.Actions[4].End; waiter < copied {
		t.Errorf("the flag of a nop was raised by itself: %d before %d", waiter, copied)
	}
}

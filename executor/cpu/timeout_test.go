//go:build cgo

package cpu

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// broken returns a sendrecv of two ranks whose step of rank 0 and rank 1 the caller
// adds; each rank has one block with the other as both its peers.
func broken(steps func(b *builder)) *either.Program {
	b := newBuilder("broken", &ir.Collective{Kind: ir.SendRecv, Ranks: 2, Chunks: 4, Peer: []int32{1, 0}}, 0)
	b.block(0, 1, 1, 0)
	b.block(1, 0, 0, 0)
	steps(b)
	return b.program()
}

// TestTimeouts runs programs that wait for what never comes. Each ends in time
// with the step, what it waited for and what it saw, and the loaded program
// still runs: the same one fails in the same way, and a good one is good.
func TestTimeouts(t *testing.T) {
	message := func(b *builder) {
		b.step(0, 0, ir.Send, input(0), none, 1, 0)
		b.step(1, 0, ir.Recv, none, output(0), 1, 0)
		b.step(1, 0, ir.Recv, none, output(1), 1, 0)
	}
	slot := func(b *builder) {
		for i := range 4 {
			b.step(0, 0, ir.Send, input(i), none, 1, 0)
		}
		b.step(1, 0, ir.Recv, none, output(0), 1, 0)
	}
	flag := func(b *builder) {
		b.block(0, -1, -1, 1)
		b.step(0, 1, ir.Copy, input(0), output(0), 1, 0)
		b.step(0, 1, ir.Copy, input(1), output(1), 1, 0)
		b.step(0, 0, ir.Copy, input(2), output(2), 1, 0)
		b.waits(0, 0, 1)
		b.blocks[0][1].steps[1].Flags = 0 // whom it waits for never says so
		b.blocks[0][1].steps[0].Flags = ir.HasDep
	}
	cases := []struct {
		name  string
		proto ir.Protocol
		steps func(b *builder)
		want  string
	}{
		{"message", ir.Simple, message, "broken.mscl:2:2: error: rank 1 block 0 step 1 (r): waited * for message 2 of connection 0 0->1, have 1 [timeout]"},
		{"packet", ir.LL, message, "broken.mscl:2:2: error: rank 1 block 0 step 1 (r): waited * for message 2 of connection 0 0->1, its slot has nothing [timeout]"},
		{"packet16", ir.LL16, message, "broken.mscl:2:2: error: rank 1 block 0 step 1 (r): waited * for message 2 of connection 0 0->1, its slot has nothing [timeout]"},
		{"line", ir.LL128, message, "broken.mscl:2:2: error: rank 1 block 0 step 1 (r): waited * for message 2 of connection 0 0->1, its slot has nothing [timeout]"},
		{"slot", ir.Simple, slot, "broken.mscl:1:4: error: rank 0 block 0 step 3 (s): waited * for a free slot for message 4 of connection 0 0->1, have 1 received of 2 slots [timeout]"},
		{"flag", ir.Simple, flag, "broken.mscl:1:1: error: rank 0 block 0 step 0 (cpy): waited * for the flag of block 1 step 1, have step 0 [timeout]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := broken(c.steps)
			p.Protocol = c.proto
			l, err := executor.Load(p, executor.Options{Device: Device(), Unproven: true})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for _, per := range []int{0, 0, 3, 0} {
				d := data.New(data.NewGeometry(p.Coll, 400, 4), data.F32, data.Sum, 1)
				args := executor.DataArgs(d)
				args.PerBlock = per
				timesOut(t, l, args, c.want)
				if rep := d.Check(); len(rep.Broken) > 0 {
					t.Errorf("buffers: %v", rep.Broken)
				}
			}
		})
	}
}

// timesOut runs a call that must time out with a text in which * stands for
// anything. Waits are short at first; on a busy machine a block may not get far
// in one, and is given more. Where several blocks wait, want has a line for each.
func timesOut(t *testing.T, l *executor.Loaded, args executor.Args, want string) {
	t.Helper()
	is := func(got string) bool {
		return slices.ContainsFunc(strings.Split(want, "\n"), func(one string) bool {
			head, tail, _ := strings.Cut(one, "*")
			return strings.HasPrefix(got, head) && strings.HasSuffix(got, tail)
		})
	}
	for args.Wait = 30 * time.Millisecond; ; args.Wait *= 4 {
		begin := time.Now()
		_, err := l.Run(context.Background(), args)
		if took := time.Since(begin); took > 10*time.Second+args.Wait {
			t.Errorf("the run took %v", took)
		}
		var list diag.List
		if !errors.As(err, &list) || len(list) != 1 || list[0].Code != diag.Timeout {
			t.Fatalf("got %v, want a timeout", err)
		}
		got := list[0].Error()
		if is(got) {
			return
		}
		if args.Wait > time.Second {
			t.Errorf("got  %s\nwant %s", got, want)
			return
		}
	}
}

// TestAfterTimeout sees one loaded program fail, because a run gives it too few
// slots, and then succeed, several times over.
func TestAfterTimeout(t *testing.T) {
	p := ringAllGather(4, 3, false)
	l := load(t, p)
	for i := range 6 {
		proto := ir.Protocol(i % int(ir.NumProtocols))
		d := data.New(data.NewGeometry(p.Coll, 3*64, 4), data.F32, data.Sum, 1)
		args := executor.DataArgs(d)
		args.Protocol, args.Slots, args.SlotBytes, args.Wait = &proto, 2, 16, 20*time.Millisecond
		if _, err := l.Run(context.Background(), args); err == nil {
			t.Fatal("three messages at once fit two slots")
		}
		check(t, l, p.Coll, data.F32, data.Sum, 3*64+1, func(a *executor.Args) { a.Protocol = &proto })
	}
}

// TestLaterTile names a step that is stuck in a later pass over the steps, by the
// numbers of its launch: three messages are sent in each pass, and two received.
func TestLaterTile(t *testing.T) {
	p := broken(func(b *builder) {
		for i := range 3 {
			b.step(0, 0, ir.Send, input(i), none, 1, 0)
		}
		for i := range 2 {
			b.step(1, 0, ir.Recv, none, output(i), 1, 0)
		}
	})
	l, err := executor.Load(p, executor.Options{Device: Device(), Unproven: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for proto := range ir.NumProtocols {
		d := data.New(data.NewGeometry(p.Coll, 4*20, 4), data.F32, data.Sum, 1)
		args := executor.DataArgs(d)
		args.Protocol, args.Slots, args.SlotBytes = &proto, 2, 16
		timesOut(t, l, args,
			"broken.mscl:1:1: error: rank 0 block 0 step 0 (s): waited * for a free slot for message 13 of connection 0 0->1, have 10 received of 2 slots (tile 4) [timeout]")
	}
}

// TestEnded does not begin a run whose context has ended.
func TestEnded(t *testing.T) {
	p := ringAllReduce(2, true)
	l := load(t, p)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Run(ctx, executor.Args{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	check(t, l, p.Coll, data.F32, data.Sum, 64, nil)
}

// TestCancel ends a run that waits for ever by its context.
func TestCancel(t *testing.T) {
	p := broken(func(b *builder) { b.step(1, 0, ir.Recv, none, output(0), 1, 0) })
	l, err := executor.Load(p, executor.Options{Device: Device(), Unproven: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := data.New(data.NewGeometry(p.Coll, 4, 4), data.F32, data.Sum, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if _, err := l.Run(ctx, executor.DataArgs(d)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestLoadRefuses holds Load to what verify accepts.
func TestLoadRefuses(t *testing.T) {
	p := broken(func(b *builder) { b.step(1, 0, ir.Recv, none, output(0), 1, 0) })
	if _, err := executor.Load(p, executor.Options{Device: Device()}); err == nil {
		t.Error("a program without its send was loaded")
	}
}

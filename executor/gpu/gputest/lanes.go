package gputest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
	"mscclc/lang"
	"mscclc/passes/core"
)

// testLanes traces an AllReduce of two ranks with lanes that reduce and lanes that send, and reports for how much of
// the call a rank does both at the same time.
func testLanes(t *testing.T, d Device) {
	inplace, proto := true, ir.Simple
	text, err := algorithms.Open("allreduce/allpairs")
	if err != nil {
		t.Fatal(err)
	}
	for _, lanes := range []int{2, 3, 4} {
		opt := mscclc.Options{OneSided: true, Core: core.Options{Lanes: lanes}, Lang: lang.Options{Inplace: &inplace,
			Params: lang.Params{"ranks": 2}, Protocol: &proto, Open: algorithms.Open}}
		p, err := mscclc.Compile("allreduce/allpairs", text, opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, tile := range []int64{64 << 10, 256 << 10, 1 << 20} {
			// A rank has 128 CTAs where it has a GPU of its own, and half where two ranks share one.
			replicas := 128 / lanes
			err := d.reportLanes(t, p, lanes, replicas, tile)
			if errors.Is(err, executor.ErrNoDevice) {
				err = d.reportLanes(t, p, lanes, replicas/2, tile)
			}
			if err != nil && (d.Name != "hip" || !errors.Is(err, executor.ErrNotSupported)) {
				t.Fatal(err)
			}
		}
		if lanes == 2 {
			d.hasRoom(t, p)
		}
	}
}

// reportLanes runs a call of 1 GiB, and reports its lanes.
func (d Device) reportLanes(t *testing.T, p *either.Program, lanes, replicas int, tile int64) error {
	trace, elems := &executor.Trace{}, d.times(1<<18, 1<<28)
	if d.StandIn() {
		tile >>= 6
	}
	l, err := executor.Load(p, executor.Options{Device: d.Open(numbers()...), Unproven: true, Replicas: replicas,
		TileBytes: tile})
	if err != nil {
		return err
	}
	defer l.Close()
	if err := check(l, p.Coll, data.I32, data.Sum, int64(elems),
		func(a *executor.Args) { a.Trace, a.Replicas, a.TileBytes = trace, replicas, tile }); err != nil {
		return err
	}
	for rank := range int32(2) {
		b, alone := busyLanes(p, trace, rank, -1), 0.
		for c := range replicas {
			alone += busyLanes(p, trace, rank, c).both / float64(replicas)
		}
		if min(b.reduces, b.sends) == 0 || b.both > min(b.reduces, b.sends) || max(b.reduces, b.sends) > 1.001 {
			t.Errorf("%d lanes, rank %d: %+v", lanes, rank, b)
		}
		t.Logf("%d lanes, %d replicas, tiles of %d: rank %d: a lane reduces %.0f %% of the call, one sends %.0f %%, both "+
			"at once %.0f %%, of one replica %.0f %% (%d of %d passes)", lanes, replicas, tile, rank, 100*b.reduces, 100*b.sends,
			100*b.both, 100*alone, trace.Passes, trace.Of)
	}
	return nil
}

// hasRoom reports how many CTAs a GPU holds at once, by their threads, as the executor gets it.
func (d Device) hasRoom(t *testing.T, p *either.Program) {
	const replicas = 1024
	r := mustRig(t, d, p, plan.Options{GPUs: d.Open(numbers()...), Replicas: replicas, TileBytes: 256})
	for threads := 512; threads >= 64; threads /= 2 {
		err := r.once(soon(t), data.I32, data.Sum, replicas*64, func(a *plan.CallArgs) {
			a.Threads, a.Replicas = threads, replicas
		})
		if !errors.Is(err, executor.ErrNoDevice) && (err != nil || threads == 512) {
			t.Errorf("%d threads: %v", threads, err)
		}
		t.Logf("%d threads: %v", threads, err)
	}
}

// busy says for which share of a call lanes of a rank that reduce move data, lanes that send, and both at once.
type busy struct{ reduces, sends, both float64 }

// busyLanes reads it from a trace. The call is from the first begin to the last end on that rank's device. A lane
// reduces if it has a Move that sums, and else sends if it has one that writes to another rank. It is busy while one of
// its replicas, or of one alone unless that is -1, is in a Move: what waits is another step.
func busyLanes(p *either.Program, t *executor.Trace, rank int32, replica int) (b busy) {
	type turn struct {
		at   time.Duration
		lane int // 0 reduces, 1 sends
		more int
	}
	first, end := time.Duration(1<<62), time.Duration(0)
	var turns []turn
	for i := range t.Spans {
		s := &t.Spans[i]
		own, number, _ := p.Place(s.Step)
		if int32(own) != rank || replica >= 0 && int(s.Replica) != replica {
			continue
		}
		first, end = min(first, s.Begin), max(end, s.Begin+s.Length)
		lane := kindOf(p, &p.Blocks[p.Rank[rank].First+int32(number)])
		if lane >= 0 && p.Steps[s.Step].Op.Moves() {
			turns = append(turns, turn{s.Begin, lane, 1}, turn{s.Begin + s.Length, lane, -1})
		}
	}
	slices.SortFunc(turns, func(x, y turn) int { return int(x.at - y.at) })
	var now [2]int
	for i, x := range turns {
		if now[x.lane] += x.more; i+1 == len(turns) {
			break
		}
		part := float64(turns[i+1].at-x.at) / float64(end-first)
		if now[0] > 0 {
			b.reduces += part
		}
		if now[1] > 0 {
			b.sends += part
		}
		if min(now[0], now[1]) > 0 {
			b.both += part
		}
	}
	return b
}

// kindOf is 0 of a block that reduces, 1 of one that sends, and -1 of any other.
func kindOf(p *either.Program, b *ir.TB) int {
	kind := -1
	for i := b.Steps.First; i < b.Steps.End; i++ {
		s := &p.Steps[i]
		switch {
		case !s.Op.Moves():
		case s.NSrc > 1:
			return 0
		case slices.ContainsFunc(p.OneSided.Dests(s), func(x onesided.Operand) bool { return x.Rank != b.Rank }):
			kind = 1
		}
	}
	return kind
}

// testLanesMemory holds how many replicas there is memory for where ranks have several blocks: no more than are
// resident at once, of all ranks on a GPU and in all processes, unless the caller says how many. They run right.
func testLanesMemory(t *testing.T, d Device) {
	const ranks = 4
	text, err := algorithms.Open("allreduce/allpairs")
	if err != nil {
		t.Fatal(err)
	}
	for _, lanes := range []int{1, 3, 8} {
		opt := mscclc.Options{OneSided: true, Core: core.Options{Lanes: lanes}, Lang: lang.Options{
			Params: lang.Params{"ranks": ranks}, Open: algorithms.Open}}
		p, err := mscclc.Compile("allreduce/allpairs", text, opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, gpus := range d.seatings(t) {
			prepare := func(opt plan.Options) *rig {
				opt.GPUs, opt.TileBytes = d.Open(gpus...), 1024
				return mustRig(t, d, p, opt)
			}
			usual := prepare(plan.Options{})
			room, err := usual.plan.GPU(0).Load(data.I32, executor.OneSidedKernel)
			if err != nil {
				t.Fatal(err)
			}
			want, blocks, count := plan.Replicas, len(p.TBsOf(0)), len(usual.plan.GPUs())
			if blocks > 1 {
				want = max(1, min(want, room/(blocks*((ranks+count-1)/count))))
			}
			t.Logf("%d blocks, %d GPUs with room for %d: memory for %d replicas", blocks, count, room, want)
			for _, c := range []struct {
				r    *rig
				want int
			}{
				{usual, want}, {prepare(plan.Options{Replicas: want + 1}), want + 1},
				{prepare(plan.Options{Replicas: 1, Wider: true}), want},
				{prepare(plan.Options{Replicas: 40, Wider: true}), 40},
			} {
				if got := c.r.plan.MaxReplicas(); got != c.want {
					t.Errorf("%d blocks on %d GPUs: memory for %d replicas, and %d are wanted", blocks, count, got, c.want)
				}
			}
			for _, elems := range []int64{7, 300_000} {
				if err := usual.once(soon(t), data.I32, data.Sum, elems, nil); err != nil {
					t.Error(err)
				}
			}
			d.unevenProcesses(t, p, max(1, min(plan.Replicas, room/(blocks*(ranks-1)))))
		}
	}
}

// unevenProcesses has two processes, of which one has all ranks but one on a GPU: both have memory for as many
// replicas.
func (d Device) unevenProcesses(t *testing.T, p *either.Program, want int) {
	if len(p.TBsOf(0)) == 1 {
		return
	}
	group, list := exchange.Group(2), make([]*rig, 2)
	if err := all(list, func(i int) (err error) {
		list[i], err = newRig(t.Context(), d, p, plan.Options{GPUs: d.Open(0), Exchange: group[i],
			Ranks: [][]int{{0, 1, 2}, {3}}[i], TileBytes: 1024, Unproven: true})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for i, r := range list {
		if got := r.plan.MaxReplicas(); got != want {
			t.Errorf("process %d of %d blocks: memory for %d replicas, and %d are wanted", i, len(p.TBsOf(0)), got, want)
		}
	}
	if err := all(list, func(i int) error { return list[i].Close() }); err != nil {
		t.Error(err)
	}
}

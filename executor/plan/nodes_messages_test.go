//go:build cgo && linux

package plan_test

import (
	"testing"

	"mscclc"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/lang"
	"mscclc/passes/core"
	"mscclc/transport"
)

// sentBy adds up what the processes of a job have sent so far.
func sentBy(list []*member) (c transport.Counts) {
	for _, m := range list {
		of := plan.CountsOf(m.Plan)
		c.Sent, c.SentBytes, c.Pieces = c.Sent+of.Sent, c.SentBytes+of.SentBytes, c.Pieces+of.Pieces
	}
	return c
}

// TestNodesMessages: all replicas of a block have one message. As long as their tiles are whole, and memory is made for
// as many replicas, so have their data. Where a call before has had fewer replicas, those that took no part are at
// another copy of scratch. The last credits of a call may be sent after its end, and count with the next.
func TestNodesMessages(t *testing.T) {
	const tile, passes = 16384, 6
	world(t)
	params := lang.Params{"nodes": "2", "gpus": "2"}
	list := start(t, catalog(t, "allreduce/hierarchical", params, nil), nodesOf(2, 1, 2), 4, tile)
	run := func(replicas int) transport.Counts {
		before := sentBy(list)
		chunk := passes * tile * replicas
		must(t, list, int64(chunk*list[0].Program().Coll.Chunks), data.U8, data.Sum, replicas, 1)
		after := sentBy(list)
		return transport.Counts{Sent: after.Sent - before.Sent, SentBytes: after.SentBytes - before.SentBytes,
			Pieces: after.Pieces - before.Pieces}
	}
	all := run(4)
	if all.Pieces == 0 || all.Pieces > all.Sent {
		t.Errorf("%d messages have %d pieces", all.Sent, all.Pieces)
	}
	near := func(sent uint64) bool { return sent*4 < all.Sent*5 && all.Sent*4 < sent*5 }
	one := run(1)
	if !near(one.Sent) || one.SentBytes*4 != all.SentBytes {
		t.Errorf("one replica sends %d messages of %d bytes, and four send %d of %d", one.Sent, one.SentBytes, all.Sent,
			all.SentBytes)
	}
	if again := run(4); !near(again.Sent) || again.Pieces != all.Pieces {
		t.Errorf("%d messages have %d pieces, and %d had %d", again.Sent, again.Pieces, all.Sent, all.Pieces)
	}
	must(t, list, 1, data.U8, data.Sum, 1, 1) // one tile iteration
	if split := run(4); !near(split.Sent) || split.Pieces <= all.Pieces || split.Pieces > 3*all.Pieces {
		t.Errorf("after a call of one replica, %d messages have %d pieces, and %d had %d", split.Sent, split.Pieces,
			all.Sent, all.Pieces)
	}
}

// TestNodesCopies runs lanes with more copies of scratch than usual, over nodes.
func TestNodesCopies(t *testing.T) {
	world(t)
	for copies, want := range map[int]int32{0: 3, 5: 5, 99: core.MostCopies} {
		params := lang.Params{"nodes": "2", "gpus": "2"}
		p := catalog(t, "allreduce/hierarchical", params, func(o *mscclc.Options) {
			o.Lowered, o.OneSided, o.Core.Lanes, o.Core.Copies = false, true, 5, copies
			o.Nodes = func(int) ([]int32, error) { return []int32{0, 0, 1, 1}, nil }
		})
		if p.OneSided.Depth != want {
			t.Errorf("%d copies of scratch, not %d", p.OneSided.Depth, want)
		}
		must(t, start(t, p, nodesOf(2, 1, 2), 3, 1024), 50007, data.F32, data.Sum, 3, 2)
	}
}

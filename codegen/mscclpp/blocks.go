package mscclpp

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// blocks resolves the blocks of rank x.gpu.
func (x *resolver) blocks(g *GPU, r *ir.ChannelRank) {
	r.Blocks = make([][]ir.ChannelOp, len(g.Blocks))
	for i := range g.Blocks {
		b := &g.Blocks[i]
		x.block = i
		if int(b.ID) != i {
			x.say(diag.Malformed, b.At, "id", "is %d, and stands at %d: the executor takes the place for the block", b.ID, i)
		}
		if x.lists(g, b, r) {
			r.Blocks[i] = x.ops(b.Ops, r)
		}
		x.block = -1
		if x.full() {
			return
		}
	}
	if len(x.found) == 0 {
		x.barriers(g)
	}
}

// lists resolves a block's own lists of channels and of remote buffers.
func (x *resolver) lists(g *GPU, b *Block, r *ir.ChannelRank) bool {
	before := len(x.found)
	x.channels, x.remote = [ir.NumChannelTypes][]int32{}, [2][]int32{}
	return x.ids(b.Channels, "channels", "channel_ids", MaxChannels, x.channels[:], "channels of type %s",
		"%d %s channels", func(c *IDs, k int, t ir.ChannelType, path string) {
			if id := c.IDs[k]; int(id) >= len(r.Channels[t]) {
				x.say(diag.OutOfBounds, c.At, path, "%s channel %d is none of the rank's %d", c.Type, id, len(r.Channels[t]))
			} else if slices.Contains(c.IDs[:k], id) {
				x.say(diag.Malformed, c.At, path, "%d stands twice", id)
			}
		}) && x.ids(b.Remote, "remote_buffer_refs", "remote_buffer_ids", MaxRemote, x.remote[:], "remote buffers of type %s",
		"%d remote buffers through %s channels",
		func(c *IDs, k int, t ir.ChannelType, path string) {
			if id := c.IDs[k]; int(id) >= len(g.Remote) {
				x.say(diag.OutOfBounds, c.At, path, "remote buffer %d is none of the rank's %d", id, len(g.Remote))
			} else if !slices.Contains(g.Remote[id].Access, c.Type) {
				x.say(diag.Malformed, c.At, path, "remote buffer %d is not reached through %s channels", id, c.Type)
			}
		}) && len(x.found) == before
}

// ids resolves one of these lists, which stands at key, into a list for each type: of each type one of at most that
// many ids. It returns false where there are more.
func (x *resolver) ids(list []IDs, key, idKey string, most int, byType [][]int32, what, many string,
	check func(c *IDs, k int, t ir.ChannelType, path string)) bool {
	for i := range list {
		c, path := &list[i], indexed(key, i)
		t := channelTypeByName(c.Type)
		if byType[t] != nil {
			x.say(diag.Malformed, c.At, path, what+" stand twice", c.Type)
		}
		if n := len(c.IDs); n > most {
			x.say(diag.Limit, c.At, path+"."+idKey, "the block has "+many+", where %d are the most", n, c.Type, most)
			return false
		}
		for k := range c.IDs {
			check(c, k, t, path+"."+indexed(idKey, k))
		}
		byType[t] = c.IDs
	}
	return true
}

// ops resolves the operations of a block, or of a loop.
func (x *resolver) ops(list []Op, r *ir.ChannelRank) []ir.ChannelOp {
	at := &x.op
	if x.loop {
		at = &x.inner
	}
	out := make([]ir.ChannelOp, len(list))
	total := len(list)
	for i := range list {
		*at = i
		out[i] = x.resolve(&list[i], r)
		total += len(out[i].Body)
		if x.full() {
			break
		}
	}
	*at = -1
	if total > MaxOps && !x.loop { // Read has reported it where the plan is of a file
		x.say(diag.Limit, Pos{}, "ops", "are %d with the bodies of loops, where %d are the most", total, MaxOps)
	}
	return out
}

// resolve resolves one operation.
func (x *resolver) resolve(op *Op, r *ir.ChannelRank) ir.ChannelOp {
	row := opRowByName(op.Name)
	if row == nil {
		x.say(diag.Unsupported, op.At, "name", "unknown operation %q", diag.Clip([]byte(op.Name)))
		return ir.ChannelOp{}
	}
	x.p.Spans = append(x.p.Spans, x.f.span(op.At))
	o := ir.ChannelOp{Name: row.name, Kind: row.kind, Type: ir.NoChannel, Pos: int32(len(x.p.Spans) - 1)}
	if t := channelTypeByName(op.Type); row.types != 0 {
		if t == ir.NoChannel || row.types&(1<<t) == 0 {
			x.say(diag.Malformed, op.At, "channel_type", "%s does not go through channels of type %q", op.Name, op.Type)
			return o
		}
		o.Type = t
		o.Channels = x.opChannels(op, t)
	}
	switch info := row.kind.Info(); {
	case row.kind == ir.ChBarrier:
		o.ID, o.Blocks = op.Barrier, op.Blocks
	case info.Semaphores:
		o.Semaphores = op.Semaphores
		x.distinct(op, op.Semaphores, "semaphore_ids", ir.OpSemaphores)
		for i, id := range op.Semaphores {
			if int(id) >= len(r.Semaphores) {
				x.say(diag.OutOfBounds, op.At, indexed("semaphore_ids", i), "semaphore %d is none of the rank's %d", id,
					len(r.Semaphores))
			}
		}
	case info.OnChannels():
		x.distinct(op, op.ChannelIDs, "channel_ids", ir.OpChannels)
	case row.kind == ir.ChLoop:
		o.Unit, o.Chunks = op.Loop.Unit, op.Loop.Chunks
		x.loop = true
		o.Body = x.ops(op.Loop.Ops, r)
		x.loop = false
	}
	if row.moves() {
		x.move(op, row, &o, r)
	}
	return o
}

// distinct checks a list of ids of which each has a thread.
func (x *resolver) distinct(op *Op, ids []int32, key string, most int) {
	if len(ids) == 0 {
		x.say(diag.Malformed, op.At, key, "is empty")
	}
	if len(ids) > most {
		x.say(diag.Limit, op.At, key, "%s has %d, where %d are the most", op.Name, len(ids), most)
		return
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			x.say(diag.Malformed, op.At, indexed(key, i), "%d stands twice", id)
		}
	}
}

// opChannels returns the rank's channels of an operation.
func (x *resolver) opChannels(op *Op, t ir.ChannelType) []int32 {
	if n := len(op.ChannelIDs); n > ir.OpChannels {
		x.say(diag.Limit, op.At, "channel_ids", "%s has %d, where %d are the most", op.Name, n, ir.OpChannels)
		return nil
	}
	var list []int32
	for i, id := range op.ChannelIDs {
		if int(id) >= len(x.channels[t]) {
			x.say(diag.OutOfBounds, op.At, indexed("channel_ids", i), "is %d, and the block has %d %s channels", id,
				len(x.channels[t]), channelTypeNames[t])
			return nil
		}
		list = append(list, x.channels[t][id])
	}
	return list
}

// A barrierUse is which blocks come to a barrier.
type barrierUse struct {
	at     Pos
	blocks int32
	by     []int
}

// barriers checks that those blocks meet at a barrier which it counts.
func (x *resolver) barriers(g *GPU) {
	var uses [MaxBarriers]barrierUse
	for b := range g.Blocks {
		x.block = b
		for i := range g.Blocks[b].Ops {
			op := &g.Blocks[b].Ops[i]
			x.op = i
			x.barrier(g, op, &uses)
			if op.Loop != nil {
				for k := range op.Loop.Ops {
					x.inner = k
					x.barrier(g, &op.Loop.Ops[k], &uses)
				}
				x.inner = -1
			}
		}
		x.op = -1
	}
	x.block = -1
	if len(x.found) > 0 {
		return // who comes to which barrier is not known
	}
	for id := range uses {
		u := &uses[id]
		switch n := len(u.by); {
		case n > int(u.blocks):
			x.say(diag.Malformed, u.at, "", "barrier %d is of %d blocks, and %d blocks use it: a barrier belongs to one set of blocks",
				id, u.blocks, n)
		case n < int(u.blocks):
			x.say(diag.Deadlock, u.at, "", "barrier %d is of %d blocks, and only %d come to it: they wait for ever", id,
				u.blocks, n)
		}
	}
}

func (x *resolver) barrier(g *GPU, op *Op, uses *[MaxBarriers]barrierUse) {
	if op.Name != "barrier" {
		return
	}
	if op.Barrier < 0 || op.Barrier >= MaxBarriers {
		x.say(diag.Limit, op.At, "barrier_id", "is %d, where %d are the most", op.Barrier, MaxBarriers)
		return
	}
	u := &uses[op.Barrier]
	switch {
	case int(op.Blocks) > len(g.Blocks):
		x.say(diag.Malformed, op.At, "num_threadblocks", "is %d, and the rank has %d blocks", op.Blocks, len(g.Blocks))
		return
	case u.blocks != 0 && u.blocks != op.Blocks:
		x.say(diag.Malformed, op.At, "num_threadblocks", "is %d, and elsewhere %d at the same barrier", op.Blocks, u.blocks)
		return
	case u.blocks == 0:
		u.at, u.blocks = op.At, op.Blocks
	}
	if n := len(u.by); n == 0 || u.by[n-1] != x.block {
		u.by = append(u.by, x.block)
	}
}

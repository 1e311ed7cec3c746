package mscclpp

import (
	"fmt"
	"slices"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// move resolves the operands of an operation and checks that they are of its shape.
func (x *resolver) move(op *Op, row *opRow, o *ir.ChannelOp, r *ir.ChannelRank) {
	before := len(x.found)
	o.Srcs = x.refs(op, "src_buff", op.Src, row.sources(o.Type), o.Type)
	o.Dsts = x.refs(op, "dst_buff", op.Dst, row.dst, o.Type)
	if len(x.found) > before {
		return
	}
	x.sizes(op, row, o)
	x.through(op, row, o, r)
	if op.Reduce != "" {
		o.Reduce = ir.ChannelReduce(slices.Index(reduceNames[:], op.Reduce))
	}
	if p := op.Part; p != nil {
		if p.ID >= p.Size {
			x.say(diag.Malformed, op.At, "tbg_info.tb_id", "is %d in a group of %d", p.ID, p.Size)
		}
		if p.Size > 1 {
			o.Part, o.Parts = p.ID, p.Size
		}
	}
}

// refs resolves the operands of one side.
func (x *resolver) refs(op *Op, key string, list []Operand, shape string, t ir.ChannelType) []ir.ChannelRef {
	if n := len(list); n > ir.OpOperands {
		x.say(diag.Limit, op.At, key, "%s has %d operands, where %d are the most", op.Name, n, ir.OpOperands)
		return nil
	}
	if !shapeFits(shape, len(list)) {
		x.say(diag.Malformed, op.At, key, "%s has %s here, not %d", op.Name, shapeText(shape), len(list))
		return nil
	}
	out := make([]ir.ChannelRef, len(list))
	for i := range list {
		out[i] = x.ref(op, indexed(key, i), &list[i], shapeAt(shape, i), t)
	}
	return out
}

// shapeText says how many operands a shape has.
func shapeText(shape string) string {
	n, more := len(shape), ""
	if shape[n-1] == '+' {
		n, more = n-1, " or more"
	}
	if n == 1 && more == "" {
		return "one operand"
	}
	return fmt.Sprintf("%d%s operands", n, more)
}

var letterText = map[byte]string{'l': "of the rank itself", 'p': "packets of the rank itself, in scratch",
	'r': "of another rank", 'q': "packets of another rank, in its scratch", 'm': "of a switch channel",
	'n': "packets of a switch channel of scratch"}

// letterKinds are the kinds of operands by letter.
var letterKinds = map[byte]OperandKind{'l': Local, 'p': Local, 'r': Remote, 'q': Remote, 'm': Switch, 'n': Switch}

// packetLetter reports whether a letter is of packets.
func packetLetter(c byte) bool { return c == 'p' || c == 'q' || c == 'n' }

// ref resolves an operand, which must be what letter says.
func (x *resolver) ref(op *Op, path string, b *Operand, letter byte, t ir.ChannelType) ir.ChannelRef {
	ref := ir.ChannelRef{Rank: int32(x.gpu), Index: b.Index, Count: b.Size, Packets: packetLetter(letter)}
	if b.Kind != letterKinds[letter] {
		x.say(diag.Malformed, op.At, path, "this operand of %s is %s", op.Name, letterText[letter])
		return ref
	}
	if b.Rank >= 0 && !(op.Name[0] == 'g' && b.Kind == Local) {
		x.say(diag.Malformed, op.At, path, "unknown key %q", "rank")
	}
	ranks := []int32{ref.Rank}
	switch b.Kind {
	case Local:
		ref.Buf = bufByLetter(b.Buffer)
	case Remote:
		if int(b.ID) >= len(x.remote[t]) {
			x.say(diag.OutOfBounds, op.At, path+".buffer_id", "is %d, and the block has %d remote buffers through %s channels",
				b.ID, len(x.remote[t]), channelTypeNames[t])
			return ref
		}
		remote := &x.f.GPUs[x.gpu].Remote[x.remote[t][b.ID]]
		ref.Rank, ref.Buf, ref.Remote = remote.Rank, bufByLetter(remote.Buffer[0]), int(remote.Rank) == x.gpu
		ranks[0] = ref.Rank
	case Switch:
		if int(b.ID) >= len(x.channels[ir.SwitchChannel]) {
			x.say(diag.OutOfBounds, op.At, path+".switch_channel_id", "is %d, and the block has %d switch channels", b.ID,
				len(x.channels[ir.SwitchChannel]))
			return ref
		}
		ref.Switch = x.channels[ir.SwitchChannel][b.ID]
		c := &x.p.Ranks[x.gpu].Channels[ir.SwitchChannel][ref.Switch]
		ref.Rank, ref.Buf, ranks = ir.AllRanks, c.Buf, c.Group
	}
	if ref.Packets && ref.Buf != ir.Scratch {
		x.say(diag.Malformed, op.At, path, "packets of %s lie in scratch, not in %s", op.Name, ref.Buf)
	}
	x.within(op, path, &ref, ranks)
	return ref
}

// within checks that a run of chunks is some, and inside the buffers of ranks.
func (x *resolver) within(op *Op, path string, ref *ir.ChannelRef, ranks []int32) {
	if ref.Count == 0 {
		x.say(diag.Malformed, op.At, path+".size", "is 0: no chunks")
	}
	for _, rank := range ranks {
		r := &x.p.Ranks[rank]
		has := r.Scratch
		switch ref.Buf {
		case ir.Input:
			has = r.In
		case ir.Output:
			has = r.Out
		}
		if int64(ref.Index)+int64(ref.Count) > int64(has) {
			x.say(diag.OutOfBounds, op.At, path, "%d chunks from %d on are beyond the %d of rank %d's %s", ref.Count,
				ref.Index, has, rank, ref.Buf)
			return
		}
	}
}

// sizes checks that what goes together is as long.
func (x *resolver) sizes(op *Op, row *opRow, o *ir.ChannelOp) {
	size := o.Dsts[0].Count
	if row.kind != ir.ChMove {
		if len(o.Srcs) != len(o.Dsts) {
			x.say(diag.Malformed, op.At, "", "%s has %d sources and %d destinations", op.Name, len(o.Srcs), len(o.Dsts))
			return
		}
		for i := range o.Srcs {
			if o.Srcs[i].Count != o.Dsts[i].Count {
				x.say(diag.Counts, op.At, indexed("dst_buff", i)+".size", "is %d, and the source's %d", o.Dsts[i].Count,
					o.Srcs[i].Count)
			}
			x.move1(op, o.Dsts[i].Count)
		}
		return
	}
	for i := range o.Srcs {
		if o.Srcs[i].Count != size {
			x.say(diag.Counts, op.At, indexed("src_buff", i)+".size", "is %d, and the destination's %d", o.Srcs[i].Count, size)
		}
		x.move1(op, size)
	}
	for i := range o.Dsts {
		if o.Dsts[i].Count != size {
			x.say(diag.Counts, op.At, indexed("dst_buff", i)+".size", "is %d, and the first's %d", o.Dsts[i].Count, size)
		}
		x.move1(op, size)
	}
}

// move1 counts what is moved against the limit.
func (x *resolver) move1(op *Op, n int32) {
	before := x.moved
	x.moved += int64(n)
	if most := x.most.Moved; before <= most && x.moved > most {
		x.say(diag.Limit, op.At, "", "the operations up to here move more than %d chunks, the most that are read", most).
			Hint = diag.MoreHint("moves", x.moved, codegen.MostMoved)
	}
}

// through checks that the channels of an operation lead to the ranks of its operands: a thread a pair, where it is one
// that pairs, or goes through a port.
func (x *resolver) through(op *Op, row *opRow, o *ir.ChannelOp, r *ir.ChannelRank) {
	if o.Type != ir.PortChannel && !(o.Type == ir.MemoryChannel && row.kind == ir.ChEach && len(o.Channels) > 0) {
		return
	}
	if len(o.Channels) != len(o.Dsts) {
		if o.Type == ir.MemoryChannel {
			return
		}
		x.say(diag.Malformed, op.At, "channel_ids", "%s has %d for %d destinations", op.Name, len(o.Channels), len(o.Dsts))
		return
	}
	for i, c := range o.Channels {
		far := o.Dsts[i].Rank
		if o.Dsts[i].Of(x.gpu) {
			far = o.Srcs[i].Rank
		}
		if peer := r.Channels[o.Type][c].Peer; peer != far {
			x.say(diag.Malformed, op.At, indexed("channel_ids", i), "leads to rank %d, and the operand is of rank %d", peer, far)
		}
	}
}

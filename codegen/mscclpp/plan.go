package mscclpp

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/text"
)

// PlanOf makes the file form of p, for Write. It is the same for the same p: a rank's remote buffers are numbered
// in the order of their first use in its blocks, and so are a block's own lists. An operation that names no channel has
// one to each rank that it reaches in its block's list, as MSCCL++'s language does it. What the executor has no
// operation or no room for is an error; of ids and chunks p is trusted, and Channels checks the result.
func PlanOf(p *ir.ChannelProgram) (*Plan, error) {
	f := &Plan{Name: p.Name, Collective: collectiveName(p.Coll), Protocol: "Simple", InPlace: p.Coll.Inplace,
		Reuse: p.Reuse, GPUs: make([]GPU, len(p.Ranks)), Threads: int32(p.Threads), Double: p.DoubleScratch,
		Alignment: int32(p.Align), MinBytes: p.MinBytes, MaxBytes: p.MaxBytes}
	if p.Protocol != ir.Simple {
		f.Protocol = "LL"
	}
	x := maker{p: p}
	for r := range p.Ranks {
		x.rank(r, &f.GPUs[r])
	}
	if len(x.found) > 0 {
		return nil, x.found.Folded()
	}
	return f, nil
}

// collectiveName is MSCCL++'s name of a collective.
func collectiveName(c *ir.Collective) string {
	switch c.Kind {
	case ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.AllToAll, ir.SendRecv:
		return c.Kind.String()
	}
	return "custom"
}

// A maker makes the file form of a program, block by block.
type maker struct {
	p     *ir.ChannelProgram
	found diag.List

	rankID, blockID, opID int
	barred                bool // the rank's barriers were reported
	g                     *GPU
	b                     *Block
	named                 [ir.NumChannelTypes][]int32 // channels that operations of the block name
	// of a rank's buffer: 1 + its number among those of the own rank, or 0
	remotes []int32
}

func (x *maker) rank(r int, g *GPU) {
	c := &x.p.Ranks[r]
	*g = GPU{ID: int32(r), Input: c.In, Output: c.Out, Scratch: c.Scratch, Blocks: make([]Block, len(c.Blocks)),
		Semaphores: c.Semaphores}
	for _, t := range []ir.ChannelType{ir.MemoryChannel, ir.PortChannel} {
		if list := c.Channels[t]; len(list) > 0 {
			peers := make([]int32, len(list))
			for i := range list {
				peers[i] = list[i].Peer
			}
			g.Channels = append(g.Channels, Channels{Type: channelTypeNames[t], Peers: peers})
		}
	}
	x.rankID, x.blockID, x.opID, x.barred = r, -1, -1, false
	if n := len(c.Channels[ir.PortChannel]); n > MaxPorts {
		x.say(diag.Limit, -1, "rank %d has %d port channels, where MSCCL++ has room for %d", r, n, MaxPorts)
	}
	for _, s := range c.Channels[ir.SwitchChannel] {
		g.Channels = append(g.Channels,
			Channels{Type: "switch", Buffer: bufNames[s.Buf], Groups: []Group{{int32(len(s.Group)), s.Group}}})
	}
	x.g, x.remotes = g, make([]int32, len(x.p.Ranks)*len(bufNames))
	for i := range c.Blocks {
		x.blockID, x.b = i, &g.Blocks[i]
		x.b.ID, x.b.Ops = int32(i), make([]Op, 0, len(c.Blocks[i]))
		x.name(c.Blocks[i])
		total := 0
		for k := range c.Blocks[i] {
			x.opID = k
			total += 1 + len(c.Blocks[i][k].Body)
			x.b.Ops = append(x.b.Ops, x.op(&c.Blocks[i][k]))
		}
		x.opID = -1
		x.room(total, MaxOps, "operations, with the bodies of loops")
		for _, l := range x.b.Channels {
			x.room(len(l.IDs), MaxChannels, l.Type+" channels")
		}
		for _, l := range x.b.Remote {
			x.room(len(l.IDs), MaxRemote, "remote buffers through "+l.Type+" channels")
		}
	}
}

// name lists the channels that operations of a block name.
func (x *maker) name(ops []ir.ChannelOp) {
	x.named = [ir.NumChannelTypes][]int32{}
	var visit func(ops []ir.ChannelOp)
	visit = func(ops []ir.ChannelOp) {
		for i := range ops {
			if o := &ops[i]; o.Type < ir.NumChannelTypes {
				for _, c := range o.Channels {
					if !slices.Contains(x.named[o.Type], c) {
						x.named[o.Type] = append(x.named[o.Type], c)
					}
				}
			}
			visit(ops[i].Body)
		}
	}
	visit(ops)
}

func (x *maker) say(code diag.Code, pos int32, format string, args ...any) {
	if len(x.found) < diag.MaxUnfolded {
		d := diag.New(code, x.p.Span(pos), format, args...)
		d.Rank, d.Block, d.Step = x.rankID, x.blockID, x.opID
		x.found = append(x.found, d)
	}
}

func (x *maker) room(n, most int, what string) {
	if n > most {
		x.say(diag.Limit, -1, "block %d of rank %d has %d %s, where MSCCL++ has room for %d", x.blockID, x.rankID,
			n, what, most)
	}
}

func (x *maker) op(o *ir.ChannelOp) Op {
	row, n := x.row(o)
	if row == nil {
		x.say(diag.Unsupported, o.Pos, "MSCCL++ has no operation for this: %s", text.OpText(x.p, x.rankID, o))
		return Op{}
	}
	op := Op{Name: row.name}
	if row.types != 0 {
		op.Type = channelTypeNames[n.Type]
	}
	if len(n.Channels) > ir.OpChannels {
		x.say(diag.Limit, o.Pos, "%d channels in one operation, where MSCCL++ has room for %d", len(n.Channels),
			ir.OpChannels)
	}
	if len(n.Channels) > 0 {
		op.ChannelIDs = make([]int32, len(n.Channels))
		for i, c := range n.Channels {
			op.ChannelIDs[i] = x.channel(n.Type, c)
		}
	}
	switch {
	case row.kind == ir.ChBarrier:
		op.Barrier, op.Blocks = n.ID, n.Blocks
		if n.ID >= MaxBarriers && !x.barred {
			x.barred = true
			x.say(diag.Limit, o.Pos, "barrier %d of rank %d: MSCCL++ has room for %d of a rank", n.ID+1, x.rankID, MaxBarriers)
		}
	case row.kind.Info().Semaphores:
		op.Semaphores = n.Semaphores
		if len(n.Semaphores) > ir.OpSemaphores {
			x.say(diag.Limit, o.Pos, "%d semaphores in one operation, where MSCCL++ has room for %d", len(n.Semaphores),
				ir.OpSemaphores)
		}
	case row.kind == ir.ChLoop:
		op.Loop = &Loop{Unit: n.Unit, Chunks: n.Chunks}
		for i := range n.Body {
			op.Loop.Ops = append(op.Loop.Ops, x.op(&n.Body[i]))
		}
	}
	if row.moves() {
		op.Src, op.Dst = x.buffs(row, n, n.Srcs), x.buffs(row, n, n.Dsts)
		if row.reduces() {
			op.Reduce = reduceNames[n.Reduce]
		}
		if n.Parts > 1 {
			op.Part = &Part{n.Part, n.Parts}
		}
	}
	return op
}

func (x *maker) buffs(row *opRow, o *ir.ChannelOp, refs []ir.ChannelRef) []Operand {
	list := make([]Operand, len(refs))
	for i := range refs {
		ref := &refs[i]
		b := Operand{Index: ref.Index, Size: ref.Count, Rank: -1}
		switch {
		case ref.Of(x.rankID):
			b.Buffer = bufNames[ref.Buf][0]
			if row.types == viaSwitch {
				b.Rank = ref.Rank
			}
		case ref.Rank == ir.AllRanks:
			b.Kind, b.ID = Switch, x.channel(ir.SwitchChannel, ref.Switch)
		default:
			b.Kind, b.ID = Remote, x.remote(o.Type, ref)
			if len(o.Channels) == 0 {
				x.implied(o.Type, ref.Rank)
			}
		}
		list[i] = b
	}
	return list
}

// idsOf finds the list of a type, which it appends where there is none.
func idsOf(lists *[]IDs, t ir.ChannelType) *IDs {
	name := channelTypeNames[t]
	i := slices.IndexFunc(*lists, func(l IDs) bool { return l.Type == name })
	if i < 0 {
		i = len(*lists)
		*lists = append(*lists, IDs{Type: name})
	}
	return &(*lists)[i]
}

// place finds id in a list, which it appends where it is not there.
func (l *IDs) place(id int32) int32 {
	i := slices.Index(l.IDs, id)
	if i < 0 {
		i = len(l.IDs)
		l.IDs = append(l.IDs, id)
	}
	return int32(i)
}

// channel returns the block's number of the rank's channel c.
func (x *maker) channel(t ir.ChannelType, c int32) int32 { return idsOf(&x.b.Channels, t).place(c) }

// remote returns the block's number of the remote buffer that ref is of.
func (x *maker) remote(t ir.ChannelType, ref *ir.ChannelRef) int32 {
	buf, access := bufNames[ref.Buf], channelTypeNames[t]
	at := &x.remotes[int(ref.Rank)*len(bufNames)+int(ref.Buf)]
	if *at == 0 {
		x.g.Remote = append(x.g.Remote, RemoteBuffer{Rank: ref.Rank, Buffer: buf})
		*at = int32(len(x.g.Remote))
	}
	i := *at - 1
	if r := &x.g.Remote[i]; !slices.Contains(r.Access, access) {
		r.Access = append(r.Access, access)
	}
	return idsOf(&x.b.Remote, t).place(i)
}

// implied puts a channel to peer into the block's list where it has none and there is room, one that another operation
// of the block names if there is one: the executor needs none to reach memory.
func (x *maker) implied(t ir.ChannelType, peer int32) {
	all := x.p.Ranks[x.rankID].Channels[t]
	first := slices.IndexFunc(all, func(c ir.Channel) bool { return c.Peer == peer })
	if used := slices.IndexFunc(x.named[t], func(c int32) bool { return all[c].Peer == peer }); used >= 0 {
		first = int(x.named[t][used])
	}
	if first < 0 {
		return
	}
	list := idsOf(&x.b.Channels, t)
	total := len(x.named[t])
	for _, id := range list.IDs {
		if !slices.Contains(x.named[t], id) {
			total++
		}
	}
	if total < MaxChannels && !slices.ContainsFunc(list.IDs, func(id int32) bool { return all[id].Peer == peer }) {
		list.place(int32(first))
	}
}

package property

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// checkPlaced: each instruction is in a block that has its rank, peers and
// channel, and each end of a connection belongs to one block.
func checkPlaced(d *ir.InstDAG, _ *Options) diag.List {
	var p ir.Problems
	checkBlocks(d, &p)
	for i := range d.Insts {
		in := &d.Insts[i]
		if in.Block < 0 || int(in.Block) >= len(d.Blocks) {
			p.Add(d.Problem(int32(i), diag.Malformed, "%s is in block %d of %d", d.Label(int32(i)), in.Block, len(d.Blocks)))
			continue
		}
		b := &d.Blocks[in.Block]
		info := in.Op.Info()
		if b.Rank != in.Rank {
			p.Add(d.Problem(int32(i), diag.Malformed, "%s is in block %d, of rank %d", d.Label(int32(i)), in.Block, b.Rank))
		}
		if in.Channel != b.Channel || in.Channel < 0 {
			p.Add(d.Problem(int32(i), diag.Malformed, "%s is on channel %d, and its block %d on channel %d", d.Label(int32(i)),
				in.Channel, in.Block, b.Channel))
		}
		if info.Sends && b.SendPeer != in.SendPeer {
			p.Add(d.Problem(int32(i), diag.Malformed, "%s sends to rank %d, and its block %d to rank %d", d.Label(int32(i)),
				in.SendPeer, in.Block, b.SendPeer))
		}
		if info.Receives && b.RecvPeer != in.RecvPeer {
			p.Add(d.Problem(int32(i), diag.Malformed, "%s receives from rank %d, and its block %d from rank %d",
				d.Label(int32(i)), in.RecvPeer, in.Block, b.RecvPeer))
		}
		if info.Sends && d.Insts[in.SendMate].Channel != in.Channel {
			p.Add(d.Problem(int32(i), diag.Unmatched, "%s sends on channel %d, and %s receives on channel %d", d.Label(int32(i)),
				in.Channel, d.Label(in.SendMate), d.Insts[in.SendMate].Channel))
		}
	}
	return p.Done()
}

func checkBlocks(d *ir.InstDAG, p *ir.Problems) {
	type end struct {
		rank, peer, channel int32
		sends               bool
	}
	owner := make(map[end]int, 2*len(d.Blocks))
	for i := range d.Blocks {
		b := &d.Blocks[i]
		bad := func(code diag.Code, format string, args ...any) {
			g := diag.New(code, diag.Span{}, format, args...)
			g.Rank, g.Block = int(b.Rank), i
			p.Add(g)
		}
		ranks := int32(d.Coll.Ranks)
		if b.Rank < 0 || b.Rank >= ranks || i > 0 && d.Blocks[i-1].Rank > b.Rank {
			bad(diag.Malformed, "block %d of rank %d is not among the blocks of %d ranks in their order", i, b.Rank, ranks)
			continue
		}
		for _, e := range []end{{b.Rank, b.SendPeer, b.Channel, true}, {b.Rank, b.RecvPeer, b.Channel, false}} {
			if e.peer == -1 {
				continue
			}
			if e.peer < 0 || e.peer >= ranks || e.peer == b.Rank {
				bad(diag.OutOfBounds, "block %d of rank %d has the peer %d", i, b.Rank, e.peer)
				continue
			}
			if other, taken := owner[e]; taken {
				what := "receive from"
				if e.sends {
					what = "send to"
				}
				bad(diag.Malformed, "blocks %d and %d of rank %d both %s rank %d on channel %d", other, i, b.Rank, what,
					e.peer, b.Channel)
				continue
			}
			owner[e] = i
		}
	}
}

package passes

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// fit refuses a program that is larger than its target allows, and names what
// is too large and a way out. Counts are those of the assembled program: an
// instruction with k waits makes k-1 steps more.
func fit(s *state) (int, error) {
	l := &s.opt.Limits
	var errs diag.List
	refuse := func(rank, block int32, hint, format string, args ...any) {
		e := diag.New(diag.Limit, diag.Span{}, format, args...).WithHint("%s", hint)
		e.Rank, e.Block = int(rank), int(block)
		errs = append(errs, e)
	}
	most := usage(s.InstDAG)
	if l.Steps > 0 && most.steps.n > l.Steps {
		refuse(most.steps.rank, most.steps.block, "fewer chunks, or more thread blocks by parallelize, make blocks shorter; target plan has no such limit",
			"a thread block of rank %d has %d steps; target %s allows %d", most.steps.rank, most.steps.n, l.Target, l.Steps)
	}
	if l.Blocks > 0 && most.blocks.n > l.Blocks {
		refuse(most.blocks.rank, -1, "fewer instances, fewer channels, or fewer peers a rank",
			"rank %d has %d thread blocks; target %s allows %d", most.blocks.rank, most.blocks.n, l.Target, l.Blocks)
	}
	if l.Channels > 0 && most.channels > l.Channels {
		refuse(-1, -1, "fewer instances, or a lower ch", "the program has %d channels; target %s allows %d", most.channels, l.Target, l.Channels)
	}
	if l.Count > 0 && most.count.n > l.Count {
		refuse(most.count.rank, -1, "copy fewer chunks at a time", "a step moves %d chunks; target %s allows %d", most.count.n, l.Target, l.Count)
	}
	if l.Index > 0 && most.index.n > l.Index {
		refuse(most.index.rank, -1, "fewer chunks or instances", "rank %d uses chunk %d; target %s allows %d", most.index.rank, most.index.n, l.Target, l.Index)
	}
	if l.Peers > 0 && most.peers.n > l.Peers {
		refuse(most.peers.rank, -1, "spread peers over channels with ch", "rank %d has %d peers in one direction on one channel; target %s allows %d",
			most.peers.rank, most.peers.n, l.Target, l.Peers)
	}
	if l.DepBlock > 0 && most.depBlock.n > l.DepBlock {
		refuse(most.depBlock.rank, most.depBlock.block, "fewer thread blocks a rank", "rank %d waits for its thread block %d; target %s allows waiting for %d at most",
			most.depBlock.rank, most.depBlock.n, l.Target, l.DepBlock)
	}
	if l.Nodes > 0 && most.nodes.n > l.Nodes {
		refuse(most.nodes.rank, -1, "fewer steps a rank", "rank %d needs %d XML elements; target %s allows %d", most.nodes.rank, most.nodes.n, l.Target, l.Nodes)
	}
	return 0, errs.Err()
}

// A peak is the largest of a number, and where.
type peak struct {
	n           int
	rank, block int32
}

func (p *peak) see(n int, rank, block int32) {
	if n > p.n {
		*p = peak{n, rank, block}
	}
}

// A usage is what of each limited thing a program uses most.
type usageOf struct {
	steps, blocks, count, index, peers, depBlock, nodes peak
	channels                                            int
}

func usage(d *ir.InstDAG) *usageOf {
	u := &usageOf{}
	steps := make([]int, len(d.Blocks))
	first := make([]int32, d.Coll.Ranks)
	nodes := make([]int, d.Coll.Ranks)
	blocks := make([]int, d.Coll.Ranks)
	type port struct {
		rank, channel int32
		send          bool
	}
	peers := make(map[port]int)
	for k := len(d.Blocks) - 1; k >= 0; k-- {
		b := &d.Blocks[k]
		first[b.Rank] = int32(k)
		blocks[b.Rank]++
		u.channels = max(u.channels, int(b.Channel)+1)
		if b.SendPeer >= 0 {
			peers[port{b.Rank, b.Channel, true}]++
		}
		if b.RecvPeer >= 0 {
			peers[port{b.Rank, b.Channel, false}]++
		}
	}
	for i := range d.Insts {
		in := &d.Insts[i]
		steps[in.Block] += max(len(d.Waits.Of(i)), 1)
		u.count.see(int(in.Count), in.Rank, in.Block)
		if in.SrcBuf != ir.NoBuf {
			u.index.see(int(in.Src+in.Count-1), in.Rank, in.Block)
		}
		if in.DstBuf != ir.NoBuf {
			u.index.see(int(in.Dst+in.Count-1), in.Rank, in.Block)
		}
		for _, j := range d.Waits.Of(i) {
			u.depBlock.see(int(d.Insts[j].Block-first[in.Rank]), in.Rank, in.Block-first[in.Rank])
		}
	}
	for p, n := range peers {
		if n > u.peers.n || n == u.peers.n && p.rank < u.peers.rank {
			u.peers = peak{n, p.rank, -1}
		}
	}
	for k, n := range steps {
		rank := d.Blocks[k].Rank
		u.steps.see(n, rank, int32(k)-first[rank])
		nodes[rank] += n + 1
	}
	for r := range nodes {
		// A reader keeps the gpu elements of all ranks beside its own rank's body.
		u.nodes.see(1+d.Coll.Ranks+nodes[r], int32(r), -1)
		u.blocks.see(blocks[r], int32(r), -1)
	}
	return u
}

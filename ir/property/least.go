package property

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// Least says what of the program that d becomes is larger than l allows, however pass place lays it out: what follows
// from how many others a rank sends to and receives from, and from how many steps it has.
func Least(d *ir.InstDAG, l *ir.Limits) diag.List {
	if l.Blocks == 0 && l.Nodes == 0 {
		return nil
	}
	type end struct {
		rank, peer, part int32
		sends            bool
	}
	type side struct {
		rank, part int32
		sends      bool
	}
	seen, peers := map[end]bool{}, map[side]int{}
	steps, parts := make([]int, d.Coll.Ranks), int32(1)
	note := func(e end) {
		if e.peer >= 0 && !seen[e] {
			seen[e] = true
			peers[side{e.rank, e.part, e.sends}]++
		}
	}
	for i := range d.Insts {
		in := &d.Insts[i]
		steps[in.Rank]++
		parts = max(parts, in.Part+1)
		note(end{in.Rank, in.SendPeer, in.Part, true})
		note(end{in.Rank, in.RecvPeer, in.Part, false})
	}
	b := bounded{d: d, limits: l, largest: map[string]excess{}}
	for r := range int32(d.Coll.Ranks) {
		blocks, channels := 0, 0
		for part := range parts {
			most := max(peers[side{r, part, true}], peers[side{r, part, false}])
			blocks += most
			if l.Peers > 0 {
				channels += (most + l.Peers - 1) / l.Peers
			}
		}
		at := diag.New("", diag.Span{}, "")
		at.Rank = int(r)
		b.over("thread blocks of a rank", blocks, l.Blocks, at, fewerBlocks)
		b.over("channels", channels, l.Channels, at, fewerChannels)
		b.over("XML elements that a rank's reader keeps", 1+d.Coll.Ranks+blocks+steps[r], max(l.Nodes-1, 0), at, fewerElements)
	}
	return b.p.Done()
}

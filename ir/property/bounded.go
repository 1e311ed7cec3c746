package property

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
)

func checkBounded(d *ir.InstDAG, opt *Options) diag.List { return Excess(d, &opt.Limits) }

// Excess says what of the program that d becomes is larger than l allows, with
// a way out. Each limit is reported once, where it is exceeded most.
func Excess(d *ir.InstDAG, l *ir.Limits) diag.List {
	if free := (ir.Limits{Target: l.Target, ReceiveFused: true, ReduceChain: l.ReduceChain,
		MaxBytes: l.MaxBytes}); *l == free {
		return nil
	}
	b := bounded{d: d, limits: l, largest: map[string]excess{}}
	b.blocks()
	for i := range d.Insts {
		b.inst(int32(i))
	}
	return b.p.Done()
}

// BlockSteps returns the number of steps, nops included, of each block.
func BlockSteps(d *ir.InstDAG) []int {
	steps := make([]int, len(d.Blocks))
	for i := range d.Insts {
		if block := d.Insts[i].Block; block >= 0 && int(block) < len(steps) {
			steps[block] += max(1, len(d.Waits.Of(i))) // a nop carries each further wait
		}
	}
	return steps
}

type bounded struct {
	d       *ir.InstDAG
	limits  *ir.Limits
	p       ir.Problems
	largest map[string]excess // by what exceeds
	fused   bool              // a fused receive was refused; one message is enough
	within  []int             // by block: its number among those of its rank
}

// over reports that got things exceed most, the largest number of them. Where most is 0 there is no limit.
func (b *bounded) over(what string, got, most int, at diag.Diagnostic, hint string) {
	if most == 0 || got <= max(most, b.largest[what].got) {
		return
	}
	at.Code = diag.Limit
	at.Text = fmt.Sprintf("%s: %d, and %s allows %d", what, got, b.limits.Target, most)
	at = at.WithHint("%s, or --target program", hint)
	if old, known := b.largest[what]; known {
		b.p.List[old.index] = at
		b.largest[what] = excess{old.index, got}
		return
	}
	b.p.Add(at)
	b.largest[what] = excess{len(b.p.List) - 1, got}
}

// An excess is the problem that reports a limit, and how many things exceed it.
type excess struct{ index, got int }

// narrower says what makes thread blocks shorter and channels emptier. Pass
// place spreads all over channels that no hint places.
func (b *bounded) narrower() string {
	for _, h := range b.d.Hints {
		if h.Channel >= 0 || h.SendTB >= 0 || h.RecvTB >= 0 {
			return "leave out ch, sendtb and recvtb, so that the compiler spreads the work over channels"
		}
	}
	return "compile for fewer ranks, or with fewer chunks or --instances"
}

// What is done about a limit.
const (
	fewerBlocks   = "compile for fewer ranks, or with fewer --instances, a smaller parallelize or fewer channels"
	fewerChannels = "fewer --instances, a smaller parallelize or lower ch"
	fewerElements = "fewer --instances or larger counts"
)

func (b *bounded) blocks() {
	d := b.d
	steps := BlockSteps(d)
	type way struct {
		channel int32
		sends   bool
	}
	peers := map[way]int{}
	first, nodes := 0, 0
	for i := range d.Blocks {
		block := &d.Blocks[i]
		if block.Rank != d.Blocks[first].Rank {
			first, nodes = i, 0
			clear(peers)
		}
		nodes += 1 + steps[i]
		b.within = append(b.within, i-first)
		at := diag.New("", diag.Span{}, "")
		at.Rank, at.Block = int(block.Rank), i
		b.over("steps of a block, with nops", steps[i], b.limits.Steps, at, b.narrower())
		b.over("thread blocks of a rank", i-first+1, b.limits.Blocks, at, fewerBlocks)
		b.over("channels", int(block.Channel)+1, b.limits.Channels, at, fewerChannels)
		// A reader keeps the elements of its own rank, of all ranks, and of the whole.
		b.over("XML elements that a rank's reader keeps", nodes+d.Coll.Ranks+1, max(b.limits.Nodes-1, 0), at, fewerElements)
		for _, e := range []struct {
			peer int32
			way  way
		}{{block.SendPeer, way{block.Channel, true}}, {block.RecvPeer, way{block.Channel, false}}} {
			if e.peer >= 0 {
				peers[e.way]++
				b.over("peers of a rank on a channel, one way", peers[e.way], b.limits.Peers, at, b.narrower())
			}
		}
	}
}

func (b *bounded) inst(i int32) {
	d, in := b.d, &b.d.Insts[i]
	info, at := in.Op.Info(), d.Problem(i, "", "")
	b.over("chunks that a step moves", int(in.Count), b.limits.Count, at, "copy fewer chunks at a time")
	if in.SrcBuf != ir.NoBuf {
		b.over("index of a chunk", int(in.Src), b.limits.Index, at, "fewer chunks or --instances")
	}
	if in.DstBuf != ir.NoBuf {
		b.over("index of a chunk", int(in.Dst), b.limits.Index, at, "fewer chunks or --instances")
	}
	for _, w := range d.Waits.Of(int(i)) {
		if block := d.Insts[w].Block; block >= 0 && int(block) < len(b.within) {
			b.over("block that a step waits for", b.within[block], b.limits.DepBlock, at,
				"fewer thread blocks: fewer --instances or channels")
		}
	}
	if b.limits.Target != "" && !b.limits.ReceiveFused && info.Receives && (info.Sends || info.Reduces) && !b.fused {
		b.fused = true
		b.p.Add(d.Problem(i, diag.Unsupported, "%s is a fused receive, which %s does not have", d.Label(i), b.limits.Target))
	}
}

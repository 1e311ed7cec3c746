package mscclpp

import (
	"slices"
	"strconv"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// Pairs checks that the channels of each type from one rank to another are as many as those back, so that the k-th of
// each pair: the executor invents ends that nobody uses.
func (x *resolver) pairs() {
	type pair struct{ from, to int32 }
	for _, t := range []ir.ChannelType{ir.MemoryChannel, ir.PortChannel} {
		count := map[pair]int{}
		for r := range x.p.Ranks {
			for _, c := range x.p.Ranks[r].Channels[t] {
				count[pair{int32(r), c.Peer}]++
			}
		}
		for r := range x.p.Ranks {
			seen := map[int32]bool{}
			for _, c := range x.p.Ranks[r].Channels[t] {
				there, back := count[pair{int32(r), c.Peer}], count[pair{c.Peer, int32(r)}]
				if there > back && !seen[c.Peer] {
					seen[c.Peer] = true
					x.gpu = r
					x.say(diag.Unmatched, x.f.GPUs[r].At, "channels",
						"%d %s channels go to rank %d and %d come back: the k-th there and the k-th back are one channel", there,
						channelTypeNames[t], c.Peer, back)
					x.gpu = -1
				}
			}
		}
	}
}

// groups checks that the ranks of a switch channel all have it, those of one group in one order of buffers.
func (x *resolver) groups() {
	key := func(ranks []int32) string {
		return string(appendInts(nil, slices.Sorted(slices.Values(ranks))))
	}
	has := make([]map[string][]ir.Buf, len(x.p.Ranks))
	for r := range has {
		has[r] = map[string][]ir.Buf{}
		for _, c := range x.p.Ranks[r].Channels[ir.SwitchChannel] {
			k := key(c.Group)
			has[r][k] = append(has[r][k], c.Buf)
		}
	}
	for r := range has {
		seen := map[string]bool{}
		for _, c := range x.p.Ranks[r].Channels[ir.SwitchChannel] {
			k := key(c.Group)
			if seen[k] {
				continue
			}
			seen[k] = true
			for _, other := range c.Group {
				if !slices.Equal(has[r][k], has[other][k]) {
					x.gpu = r
					x.say(diag.Unmatched, x.f.GPUs[r].At, "channels",
						"rank %d does not have the same switch channels of their group in the same order", other)
					x.gpu = -1
					break
				}
			}
		}
	}
}

func appendInts(b []byte, list []int32) []byte {
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return b
}

package channels

import (
	"fmt"

	"mscclc/ir"
)

// switches gives each switch channel, which is of one buffer, a channel for each buffer that it is used with, as all
// ranks of its group do.
func (x *relocator) switches() {
	type nth struct {
		group string
		k     int
		buf   ir.Buf
	}
	used, keys := map[nth]bool{}, make([][]nth, len(x.p.Ranks))
	for r := range x.p.Ranks {
		count := map[string]int{}
		for _, c := range x.p.Ranks[r].Channels[ir.SwitchChannel] {
			group := fmt.Sprint(c.Group)
			keys[r] = append(keys[r], nth{group, count[group], 0})
			count[group]++
		}
		x.eachSwitch(r, func(ref *ir.ChannelRef) {
			key := keys[r][ref.Switch]
			key.buf = ref.Buf
			used[key] = true
		})
	}
	for r := range x.p.Ranks {
		c := &x.p.Ranks[r]
		var list []ir.Channel
		now := map[nth]int32{}
		for k, old := range c.Channels[ir.SwitchChannel] {
			for b := ir.Input; b <= ir.Scratch; b++ {
				key := keys[r][k]
				if key.buf = b; used[key] {
					now[key] = int32(len(list))
					list = append(list, ir.Channel{Group: old.Group, Buf: b})
				}
			}
		}
		x.eachSwitch(r, func(ref *ir.ChannelRef) {
			key := keys[r][ref.Switch]
			key.buf = ref.Buf
			ref.Switch = now[key]
		})
		c.Channels[ir.SwitchChannel] = list
	}
}

// eachSwitch calls f with the operands of a rank that are of all ranks.
func (x *relocator) eachSwitch(r int, f func(ref *ir.ChannelRef)) {
	var visit func(ops []ir.ChannelOp)
	visit = func(ops []ir.ChannelOp) {
		for i := range ops {
			for _, list := range [2][]ir.ChannelRef{ops[i].Srcs, ops[i].Dsts} {
				for k := range list {
					if list[k].Rank == ir.AllRanks {
						f(&list[k])
					}
				}
			}
			visit(ops[i].Body)
		}
	}
	for _, ops := range x.p.Ranks[r].Blocks {
		visit(ops)
	}
}

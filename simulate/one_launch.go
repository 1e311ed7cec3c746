package simulate

import "mscclc/ir"

// A oneRank is where a rank is with its launches: each begins when all blocks of the one before have ended, but those of ports.
type oneRank struct {
	blocks, left int32   // that a launch waits for, and of these, those that it still does
	end          float64 // of the blocks that have ended it
}

// Launches at most, and passes of all of them.
const (
	mostLaunches  = 8
	roughLaunches = 4
	launchPasses  = 32 // of all launches
)

// onlyPackets says whether the program is one of few packets, for which a kernel is made that does less: one block a rank, whose steps move packets and its own memory.
func (o *oneSided) onlyPackets() bool {
	if len(o.program.Blocks) != len(o.program.Rank) {
		return false
	}
	for b := range o.program.Blocks {
		tb := &o.program.Blocks[b]
		for i := range o.program.StepsOf(tb) {
			s := &o.program.StepsOf(tb)[i]
			if s.Op != ir.Move {
				return false
			}
			for _, list := range [2][]ir.Operand{o.program.OneSided.Sources(s), o.program.OneSided.Dests(s)} {
				for k := range list {
					if list[k].Buf != ir.Packets && list[k].Rank != tb.Rank {
						return false
					}
				}
			}
		}
	}
	return true
}

// launches is how many launches are simulated, one after the other, since what one rank does in the next while others are at this one counts: two where
// there is time, and more where a launch has few passes.
func (o *oneSided) launches(rough bool) int64 {
	if o.call.Trace {
		return 1
	}
	most := int64(mostLaunches)
	if rough {
		most = roughLaunches
	}
	return max(1, min(most, max(2, launchPasses/o.simulated), mostEvents/int64(max(len(o.program.Steps), 1))/o.simulated))
}

// loose says whether b is a port's, which no launch waits for.
func (o *oneSided) loose(b *oneBlock) bool {
	return b.first < b.end && o.program.Steps[b.first].Flags&ir.Loose != 0
}

// ends has a block end its part of a launch, and says when it begins the next.
func (o *oneSided) ends(b *oneBlock) verdict {
	r := &o.ranks[b.rank]
	if o.loose(b) {
		return verdict{kind: goesOn, at: b.over}
	}
	r.end = max(r.end, b.over, b.stored)
	if r.left--; r.left > 0 {
		return verdict{kind: waits, on: o.rankThing(b.rank), at: b.over}
	}
	r.left = r.blocks
	begins := r.end + o.launch()
	o.e.wake(o.rankThing(b.rank), begins)
	return verdict{kind: goesOn, at: begins}
}

func (o *oneSided) launch() float64 {
	if o.few {
		return o.costs.OneSided.Few
	}
	return o.costs.OneSided.Launch
}

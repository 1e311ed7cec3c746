package channels

import (
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// refusedChannels are programs that have no meaning, by what is changed in one that has.
var refusedChannels = []struct {
	name   string
	of     *channelBuilder
	change func(p *ir.ChannelProgram)
	code   diag.Code
	text   string
}{
	{"parts", grouped(3), func(p *ir.ChannelProgram) { p.Ranks[0].Blocks[0][0].Parts = 4099 }, diag.Limit, "cut chunks into 4099 parts"},
	{"a part beyond", grouped(3), func(p *ir.ChannelProgram) { p.Ranks[0].Blocks[0][0].Part = 3 }, diag.Malformed, "is part 3 of 3"},
	{"a count that is not the loop's", pipeline(), func(p *ir.ChannelProgram) { p.Ranks[0].Blocks[0][0].Chunks = 2 }, diag.Counts, "moves 1 chunks, and its loop goes over 2"},
	{"packets in a loop", twoPhasesOf(2), func(p *ir.ChannelProgram) { b := &p.Ranks[0].Blocks[0]; *b = []ir.ChannelOp{looped((*b)[:2]...)} }, diag.Unsupported, "moves packets in a loop"},
	{"packets of Simple", twoPhasesOf(2), func(p *ir.ChannelProgram) { p.Protocol = ir.Simple }, diag.Malformed, "the protocol is Simple"},
	{"packets that nothing sends", twoPhasesOf(2), func(p *ir.ChannelProgram) { p.Ranks[0].Blocks[0] = p.Ranks[0].Blocks[0][1:] }, diag.Unmatched, "waits for packets of scratch[0], which nothing sends in a launch"},
	{"packets that two send", twoPhasesOf(2), func(p *ir.ChannelProgram) { b := &p.Ranks[0].Blocks[0]; *b = append(*b, (*b)[0]) }, diag.Race, "where another operation of the launch sends some"},
	{"packets that nobody reads, where plans share scratch", withUnread(1), func(p *ir.ChannelProgram) { p.Reuse = true }, diag.Unmatched, "sends packets to rank 1 that nothing reads in the launch: they may come when the rank runs another plan"},
	{"packets through a port that others send", portPackets(), func(p *ir.ChannelProgram) {
		p.Ranks[0].Blocks[0][1].Kind = ir.ChEach
		p.Ranks[0].Blocks[0][0].Part, p.Ranks[0].Blocks[0][0].Parts = 0, 2
	}, diag.Unmatched, "copies packets of scratch[0] as they lie, and nothing makes them in a launch"},
	{"packets through a port at once", rawPackets(), func(p *ir.ChannelProgram) { b := &p.Ranks[0].Blocks[0]; *b = slices.Delete(*b, 1, 2) }, diag.Race, "reads scratch[0] of rank 0, and nothing orders it after rank 0 block 0 op 0 (move), which writes it"},
	{"scratch of others that is double", pipeline(), func(p *ir.ChannelProgram) {
		p.DoubleScratch = true
		p.Ranks[0].Blocks[1][5].Body[2].Dsts[0] = ref(1, ir.Scratch, 0, 1)
	}, diag.Unsupported, "which is double"},
	{"a chunk beyond", pipeline(), func(p *ir.ChannelProgram) { p.Ranks[0].Blocks[0][0].Body[0].Srcs[0].Index = 1 }, diag.OutOfBounds, "op 0.0 (move) in loop iteration 1 has input[1]*1 of rank 0"},
	{"a channel beyond", pipeline(), func(p *ir.ChannelProgram) { p.Ranks[0].Blocks[1][1].Channels[0] = 7 }, diag.OutOfBounds, "channel 7 of type 0"},
	{"a semaphore beyond", pipeline(), func(p *ir.ChannelProgram) { p.Ranks[0].Semaphores = nil }, diag.OutOfBounds, "semaphore 0 of 0"},
	{"a switch beyond", someRanks(), func(p *ir.ChannelProgram) { p.Ranks[0].Channels[ir.SwitchChannel] = nil }, diag.OutOfBounds, "switch channel 0"},
	{"a port to another", throughPorts(ir.ChEachSignalFlush), func(p *ir.ChannelProgram) { p.Ranks[0].Blocks[0][5].Dsts[0].Rank = 2 }, diag.Malformed, "through a port of rank 0 to rank 1"},
	{"a channel that does not come back", gatherBy(false, begun, begun), func(p *ir.ChannelProgram) { p.Ranks[1].Channels[ir.MemoryChannel] = nil; p.Ranks[1].Blocks = nil }, diag.Unmatched, "an end of a memory channel that rank 1 does not have"},
}

func TestRefusedChannels(t *testing.T) {
	for _, c := range refusedChannels {
		c.change(c.of.ChannelProgram)
		_, _, list := Check(c.of.ChannelProgram, verify.Options{})
		if !slices.ContainsFunc(list, func(d diag.Diagnostic) bool {
			return d.Code == c.code &&
				strings.Contains(d.Text, c.text)
		}) {
			t.Errorf("%s: not [%s] %s, but\n%s", c.name, c.code, c.text, texts(list))
		}
	}
}

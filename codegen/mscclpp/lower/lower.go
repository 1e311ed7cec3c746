// Package lower turns one-sided programs into channel programs, which use MSCCL++'s channels. [Channels] does it.
// mscclc.PlanMSCCLPP calls [Channels], and makes an execution plan from the result. The package may import codegen,
// codegen/mscclpp, and ir and its packages.
package lower

import (
	"slices"

	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// Options say how Channels writes a program at the level of channels.
type Options struct {
	Instances int // how many thread blocks do each operation, each its share of the bytes, on channels of its own; 0 is 1
	Threads   int // of a block; 0 is 1024

	// Pipeline, where not 0, has thread blocks go through the chunks in loop iterations of that many bytes, by MSCCL++'s
	// pipelines. Protocol Simple, and one instance.
	Pipeline int64

	// Meeting has threads synchronise before all Moves, and between unpacking packets and sending them on. It is slower,
	// and proven where what is written relies on packets that one Move sends on and that several operations read: those
	// sent release one of them.
	Meeting bool

	// Nodes is the node of each rank, or nil for one node. Ranks of different nodes signal through ports, and p's Moves
	// reach each other's memory through ports (core.Options.Ports).
	Nodes []int32
}

// Channels writes p, a one-sided program of one block a rank and one pass a launch, as operations that MSCCL++ has,
// within the limits of its executor and so that its faults do no harm. The error is a diag.List; what p leaves no way
// round is Unsupported or a Limit.
//
// It goes in four stages, each a file:
//
//   - cuts (cuts.go): where several blocks share an operation's bytes, all operations at one chunk have the same
//     chunks;
//   - items (items.go, fold.go): each step as operations, and where the threads must synchronise before one;
//   - segments (segments.go): a rank's operations as several blocks, one after another, where one has no room;
//   - channels (ends.go): a flag is a channel, or one for each two blocks that signal it and await it.
func Channels(p *onesided.Program, opt Options) (*ir.ChannelProgram, error) {
	x := &maker{p: p, ways: int32(max(opt.Instances, 1)), meeting: opt.Meeting, pipeline: opt.Pipeline,
		node: opt.Nodes}
	if err := x.check(); err != nil {
		return nil, err
	}
	x.out = &ir.ChannelProgram{Header: p.Header, Ranks: make([]ir.ChannelRank, p.Coll.Ranks),
		Threads: opt.Threads, Align: 16, DoubleScratch: p.Depth > 1}
	if x.out.Threads == 0 {
		x.out.Threads = mscclpp.MaxThreads
	}
	x.items, x.plain, x.packed = make([][]item, p.Coll.Ranks), slices.Clone(p.Scratch), slices.Clone(p.Packets)
	x.cells = p.Memory()
	x.flags()
	if x.ways > 1 {
		x.cut()
	}
	for r := range p.Rank {
		x.rank(int32(r))
	}
	if len(x.found) == 0 {
		x.scratch()
		x.spread()
		x.launch()
	}
	return x.out, x.found.Folded().Err()
}

// A maker makes one program of channels.
type maker struct {
	p     *onesided.Program
	out   *ir.ChannelProgram
	ways  int32 // blocks that share an operation
	found diag.List

	meeting  bool    // Options.Meeting
	pipeline int64   // Options.Pipeline
	node     []int32 // Options.Nodes
	chunks   int32   // in a pipeline: of each operation

	flagged [][]flag // by rank: its flags
	all     []*flag  // those that are signalled, in the order of who does
	// from one rank to another, where something is put through a port: the flag that signals it
	ports   map[[2]int32]*flag
	cells   *ir.Memory
	cuts    []bool                          // by cell: operations end before it; nil where none need be cut
	items   [][]item                        // of a rank
	written []bool                          // by cell: a Move writes it; nil where nothing is put through ports
	stages  map[ir.ChannelRef]ir.ChannelRef // where in scratch ports find what nobody writes
	plain   []int32                         // by rank: chunks of plain scratch so far
	packed  []int32                         // and of packets

	loads    int32              // segments that were tried so far
	remote   []int32            // of another rank's buffer, by type of channel: the last segment that counted it
	peers    [][peerTypes]int32 // of another rank, by type of channel: the last segment that has a channel to it
	base     [][peerTypes]int32 // from one rank to another, by type: the first's first channel to the other
	switches []ir.Channel

	own   int32 // the rank whose items are made
	pos   int32
	dirty bool // the threads have done something since they met
	meet  bool // they must meet before the next item
}

// A item is an operation of a rank, whose channels are not numbered yet.
type item struct {
	op   ir.ChannelOp
	meet bool      // the threads synchronise before it
	ends []flagUse // whose channels it is on; of a signal, an await and a put through ports
	puts []int32   // of a put of packets through ports, which needs no signal: the rank of each destination
}

// A flagUse is one signal of a flag.
type flagUse struct {
	flag *flag
	n    int32 // from 0
}

// A flag is a flag of p.
type flag struct {
	from, to  int32
	port      bool
	signalled int32   // signals of it in a launch
	raised    int32   // so far
	signals   []int32 // of its signals: the segment of from that it is in
	awaits    []int32 // and that of to
	channels  []int32 // of its signals: which it is of those from one rank to the other

	pending   int32 // the last segment that has puts without a signal yet
	coveredBy int32 // the signal that will
	puts      int32 // chunks that are yet to be put through ports before its signals
}

// check says why p is no program that can be written.
func (x *maker) check() error {
	p := x.p
	bad := func(code diag.Code, hint, format string, args ...any) error {
		return diag.List{diag.New(code, diag.Span{}, format, args...).WithHint("%s", hint)}
	}
	switch {
	case p == nil || !p.OnePass || len(p.Blocks) != len(p.Rank):
		return bad(diag.Unsupported, "compile it from its .mscl file",
			"plans of MSCCL++ are made of one-sided programs of one pass a launch and one block a rank")
	case len(p.Then) > 0:
		return bad(diag.Unsupported, "use --target program", "MSCCL++ has no epilogues, and the program has %s", p.Then)
	case p.Protocol == ir.LL128:
		return bad(diag.Unsupported, "give --protocol LL; the call says which of the two it is",
			"MSCCL++ has packets of 8 and of 16 bytes (LL, LL16), and none of LL128")
	case p.Coll.Ranks > codegen.MaxRanks:
		return bad(diag.Limit, "compile for fewer ranks", "plans have at most %d ranks, not %d", codegen.MaxRanks,
			p.Coll.Ranks)
	}
	if d := x.checkPipeline(int(x.ways)); d != nil {
		return diag.List{*d}
	}
	return nil
}

// say notes a problem of the step that is looked at.
func (x *maker) say(code diag.Code, format string, args ...any) *diag.Diagnostic {
	if len(x.found) >= diag.MaxUnfolded {
		return &diag.Diagnostic{}
	}
	d := diag.New(code, x.p.Span(x.pos), format, args...)
	d.Rank = int(x.own)
	x.found = append(x.found, d)
	return &x.found[len(x.found)-1]
}

// scratch lays packets after plain data, of which a chunk of packets takes the place of two.
func (x *maker) scratch() {
	base := make([]int32, len(x.items))
	for r := range x.out.Ranks {
		base[r] = (x.plain[r] + 1) / 2
	}
	for r := range x.out.Ranks {
		c := &x.out.Ranks[r]
		c.In, c.Out, c.Scratch = int32(x.p.Coll.InChunks(r)), int32(x.p.Coll.OutChunks(r)), x.plain[r]
		if x.packed[r] > 0 {
			c.Scratch = max(c.Scratch, base[r]+x.packed[r])
		}
		for i := range x.items[r] {
			op := &x.items[r][i].op
			for _, list := range [2][]ir.ChannelRef{op.Srcs, op.Dsts} {
				for k := range list {
					if list[k].Packets && list[k].Rank >= 0 {
						list[k].Index += base[list[k].Rank]
					}
				}
			}
		}
	}
}

// launch fits what a launch needs.
func (x *maker) launch() {
	if d := mscclpp.FitLaunch(x.out); d != nil && !d.Code.Warning() {
		x.say(d.Code, "%s", d.Text)
	}
}

package fifo

import (
	"fmt"
	"math/rand"
	"slices"
	"time"

	"mscclc/ir"
	"mscclc/ir/property"
)

// A Pass rewrites an InstDAG in place. It may assume the properties in Needs
// and all that earlier passes gave; it leaves those true, and Gives as well.
type Pass struct {
	Name     string // also the name of its file
	Doc      string // one line, for the documentation and the command
	Required bool   // runs at -O0 too; it cannot be turned off
	Needs    property.Property
	Gives    property.Property
	Run      func(*state) (rewrites int, err error)
}

// Table lists the passes in the order in which they run.
var Table = []Pass{
	{Name: "match", Required: true, Needs: property.Meaning, Gives: property.Matched | property.Acyclic, Run: match,
		Doc: "pair each send with its receive, and find what depends on what"},
	{Name: "drop", Needs: property.Matched, Run: drop,
		Doc: "remove what nobody needs, and copies of a chunk onto itself"},
	{Name: "aggregate", Needs: property.Matched | property.Acyclic, Run: aggregate,
		Doc: "merge short transfers of neighbouring chunks where no transfer waits for another"},
	{Name: "fuse", Needs: property.Matched | property.Acyclic, Run: fuse,
		Doc: "fuse a receive with the send of what it received: rcs, rrcs, rrs"},
	{Name: "place", Required: true, Needs: property.Matched | property.Acyclic, Gives: property.Placed, Run: place,
		Doc: "choose channels and thread blocks, and cut fusions that do not fit"},
	{Name: "order", Required: true, Needs: property.Placed, Gives: property.Ordered | property.Live, Run: order,
		Doc: "fix the order of steps by critical path, with finite slots in mind"},
	{Name: "sync", Required: true, Needs: property.Ordered, Gives: property.Synced, Run: syncBlocks,
		Doc: "turn dependences between blocks into flags, without redundant ones"},
	{Name: "pack", Needs: property.Synced, Run: pack, // after sync: memory is reused only where flags already order it
		Doc: "share memory among scratch chunks whose lifetimes do not overlap"},
	{Name: "fit", Required: true, Needs: property.Synced, Gives: property.Bounded, Run: fit,
		Doc: "refuse a program that is larger than its target allows"},
}

// Options steer Lower and Run. The zero value compiles for no target in
// particular, with every pass.
type Options struct {
	Instances int // the number of parts of the whole program; 0 is 1

	Level0 bool            // run only the required passes (-O0)
	Off    map[string]bool // names of passes that are not to run

	Limits ir.Limits
	Slots  int  // messages that a connection holds; 0: the protocol's own
	Dense  bool // sizes always divide (XML), so that chunks of all classes are equally long

	MaxInsts int // limit of instructions; 0 is ir.UsualInsts

	// Check, where not nil, judges d before the first and after every pass: have
	// is what should be true. Before each pass up to order the instructions are
	// shuffled with Seed. For tests.
	Check func(pass string, d *ir.InstDAG, have property.Property) error
	Seed  int64

	Dump  func(pass string, d *ir.InstDAG) error // sees d after every pass; it must not keep or change it
	Trace func(p *Pass, rewrites int, d time.Duration)
}

// Runs reports whether p runs.
func (o *Options) Runs(p *Pass) bool { return p.Required || !o.Level0 && !o.Off[p.Name] }

// receivesFuse reports whether the target has steps that receive and do more.
func (o *Options) receivesFuse() bool { return o.Limits.Target == "" || o.Limits.ReceiveFused }

// A state is what the passes of one Run share.
type state struct {
	*ir.InstDAG
	opt   Options
	slots int
	spread
	group int32 // chunks that one message of a connection holds at least
}

func newState(d *ir.InstDAG, opt Options) *state {
	s := &state{InstDAG: d, opt: opt, slots: opt.Slots, group: messageChunks(d, opt)}
	if s.slots == 0 {
		s.slots = d.Protocol.Slots()
	}
	return s
}

// Run takes d, which Lower made, through Table. An error is a diag.List where
// the program is at fault, and anything else a fault of mscclc.
func Run(d *ir.InstDAG, opt Options) error {
	for name := range opt.Off {
		if p := find(name); p == nil || p.Required {
			return fmt.Errorf("pass %q cannot be turned off", name)
		}
	}
	s := newState(d, opt)
	rnd := rand.New(rand.NewSource(opt.Seed))
	have := property.Meaning
	first := slices.IndexFunc(Table, func(p Pass) bool { return p.Name == "place" })
	for i := 0; i < len(Table); i++ {
		p := &Table[i]
		if !opt.Runs(p) {
			continue
		}
		if i == first {
			if err := property.Least(d, &opt.Limits).Err(); err != nil {
				return err // before the work of placing what cannot fit
			}
			s.keep(have)
		}
		if opt.Check != nil && have&property.Ordered == 0 {
			d.Shuffle(rnd) // no pass may depend on the order of the slice
		}
		start := time.Now()
		rewrites, err := p.Run(s)
		if err != nil {
			return err
		}
		have |= p.Gives
		if opt.Trace != nil {
			opt.Trace(p, rewrites, time.Since(start))
		}
		if opt.Dump != nil {
			if err := opt.Dump(p.Name, d); err != nil {
				return err
			}
		}
		if opt.Check != nil {
			if err := opt.Check(p.Name, d, have); err != nil {
				return fmt.Errorf("after pass %s: %w", p.Name, err)
			}
		}
		if p.Gives&property.Synced != 0 && s.again() {
			i, have = first-1, s.spread.have
		}
	}
	return nil
}

func find(name string) *Pass {
	for i := range Table {
		if Table[i].Name == name {
			return &Table[i]
		}
	}
	return nil
}

// messageChunks returns the least number of chunks that one message of a connection
// holds, for any size that the program is for: MSCCL-IR's m. It is 1 where our
// own executor runs the program, whatever sizes it is meant for, and where no
// size is known; what is live with 1 is live with more.
func messageChunks(d *ir.InstDAG, opt Options) int32 {
	if !opt.Dense || d.Sizes.Max == 0 {
		return 1
	}
	return int32(d.Coll.MessageChunks(d.Sizes.Max-1, d.Protocol.SlotBytes()))
}

// messages returns the number of messages that a transfer of count chunks makes.
func (s *state) messages(count int32) int32 { return (count + s.group - 1) / s.group }

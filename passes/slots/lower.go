package slots

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/fifo"
	"mscclc/ir/form"
	"mscclc/ir/onesided"
)

// A Pass adds to a State what Lower writes down at the end. It may rely on all that the passes before it have added.
type Pass struct {
	Name string // also the name of its file
	Doc  string // one line, for the documentation
	Run  func(*State) error
}

// Table lists the passes in the order in which they run. All of them are needed, but for those whose Doc says that
// they save something.
var Table = []Pass{
	{Name: "connect", Run: connect,
		Doc: "give each connection slots of scratch at its receiver, and a flag at both ends"},
	{Name: "chain", Run: chain,
		Doc: "make one move of reductions that follow each other into one place, which saves reading it again"},
	{Name: "await", Run: await,
		Doc: "list which steps wait for steps of other thread blocks"},
	{Name: "reuse", Run: reuse,
		Doc: "insert waits before a chunk of the program's scratch is written again by a later tile iteration"},
	{Name: "thin", Run: thin,
		Doc: "remove waits that others of the same thread block imply, which saves flags and signals"},
}

// Options steer Lower. The zero value means the usual.
type Options struct {
	// Slots is how many messages a connection holds in each copy of scratch; 0 is what protocol Simple has. A connection
	// with fewer messages has a slot for each.
	Slots int

	// Depth is how many copies of scratch there are. Up to this number of tile iterations can be under way in one
	// connection, even if each has as many messages as the connection has slots. 0 is UsualDepth.
	Depth int

	after func(p *Pass, s *State) // for tests: spoils what a pass has added
}

// UsualDepth is how many copies of scratch a lowered program has.
const UsualDepth = 2

// A State is a program on its way through Table.
type State struct {
	p            *fifo.Program
	w            *eval.Wiring
	order        []int32 // the steps in an order in which they may end; those that never do come last
	slots, depth int32

	conns   []conn
	in, out []int32 // by block: the connection that it receives from and sends to, as an index in conns, or -1
	head    []int32 // by step: the first of those that are one Move, which it may be itself
	last    []int32 // of such a first step: the last of them
	waits   []wait
	flags   []int32 // of a rank
	scratch []int32 // of a rank, in chunks
}

// A wait has a step wait for the end of a step of another block of its rank, a number of tile iterations ago.
type wait struct{ step, on, ago int32 }

// Lower returns the one-sided program that does what p does, which is of protocol Simple. p is not changed,
// and the result names its steps in messages (ir.Source). It is proven if p is, with opt.Slots and with messages of
// ir.WholeSteps; Lower itself proves nothing. The error is a diag.List: of a program that is not well formed, of
// another protocol, or whose sends and waits do not match.
func Lower(p *fifo.Program, opt Options) (*onesided.Program, error) {
	s, err := newState(p, opt)
	if err != nil {
		return nil, err
	}
	for i := range Table {
		if err := Table[i].Run(s); err != nil {
			return nil, err
		}
		if opt.after != nil {
			opt.after(&Table[i], s)
		}
	}
	return s.emit()
}

// newState checks what Lower asks of p.
func newState(p *fifo.Program, opt Options) (*State, error) {
	if p.Protocol != ir.Simple {
		return nil, diag.List{diag.New(diag.Unsupported, p.Declaration,
			"the program sends packets of protocol %v, which stay with the engine of two-sided programs", p.Protocol).
			WithHint("run the two-sided program as it is, or make it in protocol Simple")}
	}
	if found := form.Check(either.OfFifo(p), form.Unbounded); len(found) > 0 {
		return nil, found
	}
	s := &State{p: p, w: eval.Wire(p), slots: int32(opt.Slots), depth: int32(opt.Depth),
		flags: make([]int32, len(p.Rank)), scratch: make([]int32, len(p.Rank))}
	if s.slots <= 0 {
		s.slots = int32(ir.Simple.Slots())
	}
	if s.depth <= 0 {
		s.depth = UsualDepth
	}
	copy(s.scratch, p.Scratch)
	s.order, _ = s.w.Schedule(p, ir.Unbounded, ir.WholeSteps).Run()
	ended := make([]bool, len(p.Steps))
	for _, i := range s.order {
		ended[i] = true
	}
	for i := range ended {
		if !ended[i] {
			s.order = append(s.order, int32(i))
		}
	}
	return s, nil
}

// problem returns an error of step i.
func (s *State) problem(i int32, code diag.Code, format string, args ...any) error {
	d := diag.New(code, s.p.Span(s.p.Steps[i].Pos), "%s "+format, append([]any{s.p.StepName(i)}, args...)...)
	d.Rank, d.Block, d.Step = s.p.Place(i)
	return diag.List{d}
}

// newFlag returns a new flag of a rank.
func (s *State) newFlag(rank int32) int32 {
	s.flags[rank]++
	return s.flags[rank] - 1
}

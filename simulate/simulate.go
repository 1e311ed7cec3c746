package simulate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/simulate/devices"
	"mscclc/simulate/internal/events"
	"mscclc/simulate/internal/launches"
	"mscclc/simulate/internal/network"
	"mscclc/simulate/internal/onesided"
	"mscclc/simulate/internal/twosided"
	"mscclc/topology"
)

// A Call is a call of a program.
type Call struct {
	Bytes int64 // as nccl-tests counts them
	DType data.DType
	Row   int // elements of a row, of a program with an epilogue: chunks have whole rows; 0: one

	// Width is how wide the program runs. A two-sided program has only a tile, and slots of that many bytes. The executor
	// chooses what is 0.
	launch.Width
	Slots     int
	SlotBytes int64

	// Nodes is the node of each rank, indexed by rank, from 0. Without it the program says how many ranks a node has, or
	// ranks fill one node after the other.
	Nodes []int32

	// Multicast has operands of all ranks (via = switch) added up and spread by switches, as the executor does where a
	// call brings addresses for it. Without it they are reached rank by rank.
	Multicast bool

	Figure Figure // that the result's time is
	Rough  bool   // fewer passes, launches and turns: for what is only compared
	Trace  bool   // have spans, of the first launch
}

// A Result is what a simulation says.
type Result struct {
	Micros    float64 // the call's Figure
	Launch    float64 // of a call: the time from its begin to that of its blocks, in microseconds
	Passes    int64   // of the launch
	Simulated int64   // of these, the first
	// simulated one after the other; an interval is how long each of the later half took. One shows no interval
	Launches int64
	Events   int64         // actions that were simulated
	Rough    bool          // fewer passes, launches or turns were simulated than without the call's Rough
	Link     int32         // the link that was occupied longest, or -1
	Occupied float64       // the part of the time that it was, from 0 to 1
	Trace    *launch.Trace // where the call asks
	Busy     []float64     // by link: the part of the time that it was occupied, where the call asks for a trace

	// Split is in how many messages the data after one signal to another node went at most, because a replica has less
	// than a tile of a chunk; 0 where no data was split for that.
	Split int64
}

// ErrNoWay is part of the error where a topology has no way between ranks that a program needs, or not the ranks.
var ErrNoWay = network.ErrNoWay

// ErrWide is part of the error where a launch has more CTAs than a GPU holds at once. It is an ErrNoWay.
var ErrWide = onesided.ErrWide

// A noRoom says that a topology has too few GPUs. It is an ErrNoWay.
type noRoom struct {
	t          *topology.Topology
	ranks, per int // per is the most ranks of a node
}

func (e *noRoom) Error() string {
	gpus := "GPUs"
	if e.t.Ranks() == 1 {
		gpus = "GPU"
	}
	text := fmt.Sprintf("%d ranks have no room on %s: it has %d %s", e.ranks, e.t.Name, e.t.Ranks(), gpus)
	if e.t.Nodes > 1 || e.per < e.t.GPUs {
		text = fmt.Sprintf("%s, %s of %d, and the program takes %d of a node", text, diag.Counted(e.t.Nodes, "node"),
			e.t.GPUs, e.per)
	}
	return text
}

func (e *noRoom) Is(target error) bool { return target == ErrNoWay }

// Passes and actions that are simulated at most; and passes at least.
const (
	mostPasses  = 48
	roughPasses = 8
	leastPasses = 4
	mostEvents  = 2 << 20
)

// Run returns how long a call of p takes on t, whose device has costs c; nil is the costs that devices.CostsOf has for
// t.Device. Ranks are GPUs in their order; where p says how many ranks a node has, its nodes are t's. It fails with
// ErrNoWay where t has too few GPUs, or no path between two ranks that p connects.
func Run(p *either.Program, t *topology.Topology, c *devices.Costs, call Call) (*Result, error) {
	var err error
	if c == nil {
		if c, err = devices.CostsOf(t.Device); err != nil {
			return nil, err
		}
	}
	gpu, err := Seats(&p.Header, t, call.Nodes)
	if err != nil {
		return nil, err
	}
	row := max(call.Row, 1)
	unit := row * call.DType.Size()
	geo := data.NewGeometry(p.Coll, data.PieceElems(p.Coll, call.Bytes, call.DType)/int64(row), unit)
	s := &simulation{program: p, call: call, even: geo.Elems == geo.Chunk*int64(p.Coll.Chunks),
		Launches: launches.Launches{Net: network.New(t, gpu), Costs: c.On(t.GPUs), Chunk: float64(geo.Chunk * int64(unit))}}
	a, err := s.blocks()
	if err != nil {
		return nil, err
	}
	return s.run(a)
}

// A simulation is one call on one topology.
type simulation struct {
	program *either.Program
	call    Call
	even    bool // all chunks have as many elements, or rows
	launches.Launches
}

// blocks makes the blocks of the simulation's program.
func (s *simulation) blocks() (runner, error) {
	if p := s.program.OneSided; p != nil {
		elem := s.call.DType.Size()
		return onesided.New(p, &s.Launches, onesided.Call{Width: s.call.Width, Row: max(s.call.Row, 1) * elem, Elem: elem,
			Even: s.even, Multicast: s.call.Multicast, Rough: s.call.Rough})
	}
	return twosided.New(s.program.Fifo, &s.Launches, twosided.Call{Slots: s.call.Slots, SlotBytes: s.call.SlotBytes,
		Tile: s.call.Tile})
}

// NodesOn returns the node of each rank of a program with header h on t, indexed by rank. node is that of a Call.
// Without it h says how many ranks a node has, or ranks fill one node of t after the other.
func NodesOn(h *ir.Header, t *topology.Topology, node []int32) []int32 {
	if node != nil {
		return node
	}
	ranks, per := h.Coll.Ranks, h.RanksPerNode
	if per <= 0 || per > t.GPUs || per >= ranks {
		per = max(t.GPUs, 1)
	}
	for r := range ranks {
		node = append(node, int32(r/per))
	}
	return node
}

// Seats returns the GPU of t that each rank of a program with header h runs on, indexed by rank. node is that of a
// Call. It fails with ErrNoWay where t has too few nodes, or GPUs of a node.
func Seats(h *ir.Header, t *topology.Topology, node []int32) (gpus []int32, err error) {
	node = NodesOn(h, t, node)
	on := make([]int, slices.Max(node)+1) // by node: its ranks so far
	for _, n := range node {
		gpus = append(gpus, n*int32(t.GPUs)+int32(on[n]))
		on[n]++
	}
	if len(on) > t.Nodes || slices.Max(on) > t.GPUs {
		return nil, &noRoom{t, len(node), slices.Max(on)}
	}
	return gpus, nil
}

// DomainsOn returns the part of t whose memory the GPU of each rank reaches (topology.Domains), numbered from 0 in the
// order of the ranks; or nil if all are of one part, or have no room on t. node is that of a Call.
func DomainsOn(h *ir.Header, t *topology.Topology, node []int32) []int32 {
	gpus, err := Seats(h, t, node)
	if err != nil {
		return nil // Run says so
	}
	of, number := t.Domains(), map[int32]int32{}
	list := make([]int32, len(gpus))
	for r, g := range gpus {
		n, ok := number[of[g]]
		if !ok {
			n = int32(len(number))
			number[of[g]] = n
		}
		list[r] = n
	}
	if len(number) < 2 {
		return nil
	}
	return list
}

// A runner is the blocks of a program.
type runner interface {
	events.Actor
	Start(e *events.Engine)
	Count() int      // of blocks
	Things() int     // that they wait for
	Launch() float64 // what a launch costs before and after
}

// first returns how many passes are simulated.
func (s *simulation) first(rough bool) int64 {
	most := int64(mostPasses)
	if rough {
		most = roughPasses
	}
	return min(s.Passes, max(leastPasses, min(most, mostEvents/int64(max(len(s.program.Steps), 1)))))
}

func (s *simulation) run(a runner) (*Result, error) {
	s.Simulated = s.first(s.call.Rough)
	if s.call.Trace {
		s.Trace = &launch.Trace{Passes: s.Simulated, Of: s.Passes}
	}
	if s.Passes == 0 { // there is nothing to move
		return &Result{Micros: a.Launch(), Launch: a.Launch(), Link: -1, Trace: s.Trace}, nil
	}
	if len(s.program.Steps) == 0 { // a rank that is alone has nothing to launch
		return &Result{Passes: s.Passes, Simulated: s.Simulated, Link: -1, Trace: s.Trace}, nil
	}
	s.Repeated = s.launches(s.call.Rough)
	e := events.New(a, a.Count(), a.Things(), int(s.Simulated*s.Repeated))
	a.Start(e)
	r := &Result{Launch: a.Launch(), Passes: s.Passes, Simulated: s.Simulated, Launches: s.Repeated, Link: -1,
		Trace: s.Trace}
	r.Rough = s.Simulated != s.first(false) || s.Repeated != s.launches(false)
	end := e.Run()
	if math.IsNaN(end) {
		return nil, errors.New("the program does not end: it waits for what never comes")
	}
	r.Events, r.Split, r.Rough = e.Events, s.Split, r.Rough || s.AtOnce
	busiest := 0.
	for l, busy := range s.Net.Busy {
		if busy > busiest {
			r.Link, busiest = int32(l), busy
		}
	}
	rest, passes := s.rest(e, busiest)
	every := float64(s.Repeated)
	occupied := func(busy float64) float64 { // of all launches, as if each had all its passes
		each := busy / float64(s.Simulated*s.Repeated)
		return min((busy+float64(every*passes*each))/(end+float64(every*rest)), 1)
	}
	if end > 0 {
		r.Occupied = occupied(busiest)
	}
	if end > 0 && s.call.Trace {
		for _, busy := range s.Net.Busy {
			r.Busy = append(r.Busy, occupied(busy))
		}
	}
	r.Micros = a.Launch() + end
	if half := s.Repeated / 2; half > 0 {
		r.Micros = (e.Passes[s.Repeated*s.Simulated-1] - e.Passes[half*s.Simulated-1]) / float64(s.Repeated-half)
		// few launches may end closer together than the busiest link allows many to
		r.Micros = max(r.Micros, busiest/float64(s.Repeated))
	}
	r.Micros += rest
	return r, nil
}

// rest returns what the passes of a launch take that were not simulated, and how many these are: each takes as long as
// the last half of those that were, or where blocks drift apart, so that the last of these end close together, as long
// as each occupied the busiest link.
func (s *simulation) rest(e *events.Engine, busiest float64) (micros, passes float64) {
	n := s.Simulated
	if s.Passes == n {
		return 0, 0
	}
	half, all := n/2, n*s.Repeated
	each := max((e.Passes[all-1]-e.Passes[all-n+half-1])/float64(n-half), busiest/float64(all))
	passes = s.Share/s.Tile - float64(n)
	return each * passes, passes
}

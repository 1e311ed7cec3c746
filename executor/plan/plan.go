// Package plan prepares programs to run on GPUs. [Prepare] makes a [Plan], and allocates its memory once. [Plan.Bind]
// takes the buffers of the caller, and returns a [Call]. The launches of a Call go onto streams or into graphs. An
// exchange.Member connects the processes that share a plan (executor/PLANS.md). For a GPU, executor.Load also makes a
// plan: the device calls [Open], which makes a plan of all ranks in one process.
package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/executor/launch"
	"mscclc/executor/proof"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// Options are Prepare's. Zero fields mean the usual.
type Options struct {
	GPUs     executor.GPUs
	Check    verify.Options                                   // as in executor.Options
	Unproven bool                                             // as in executor.Options
	Lower    func(p *either.Program) (*either.Program, error) // as in executor.Options

	// Exchange reaches the processes that drive the other ranks; Ranks are those
	// that this one drives. Without an exchange it drives all; with one, and no
	// Ranks, process i of as many as there are ranks drives rank i.
	Exchange *exchange.Member
	Ranks    []int

	// Node is any text that processes on one node have alike, whose ranks map each other's memory. The usual one is that
	// of MSCCLC_NODE, or else what the device says.
	Node string

	// Net is what carries messages between nodes, as MSCCLC_NET says it, which says the usual one.
	Net string

	// Connect is how long it may take to reach the processes of other nodes. The usual time is 30 s, or what ctx allows.
	Connect time.Duration

	// Replicas and TileBytes are what memory is made for, as in executor.Options: no call has
	// more. The usual ones are UsualWidth's, and of a two-sided program, which
	// has no replicas, DefaultTileBytes. Where ranks have several blocks, there are no more usual
	// replicas than are resident at once. Wider makes memory for the usual replicas too, if
	// Replicas are fewer.
	Replicas  int
	Wider     bool
	TileBytes int64

	// Of a two-sided program, all calls have this protocol, and slots at least these, as in
	// Args. PieceBytes is the most that a piece of a call has, as far as it is
	// known: scratch is made for it by Prepare, and else by the first call that needs more.
	Protocol   *ir.Protocol
	Slots      int
	SlotBytes  int64
	PieceBytes int64

	Types []data.DType // whose kernels are loaded now, and not by the first call: BF16 and F32
}

// What the memory of a plan is made for, if nothing else is asked.
const (
	Replicas = launch.UsualReplicas
	Tile     = launch.PlanTile
)

// A Plan is a program on GPUs: its tables and the memory that ranks
// share, made once. Ranks go round the GPUs, and those on one GPU are launched
// together. Methods may be called from any goroutine. Where there is an exchange,
// Prepare, Bind, Reset and Close are collective: all processes call them in the
// same order.
type Plan struct {
	checked  executor.Checked
	kind     kind
	replicas int
	tile     int64
	ranks    []int
	seats    []*seat
	of       map[int]*seat // by rank
	order    executor.LaunchOrder
	x        *exchange.Member
	topic    uint64
	nodes    nodes
	card     map[int]string // by rank: the PCI address of its GPU
	hosted   bool           // arenas are memory of the host
	net      *network       // where the ranks are of several nodes
	deaf     func()         // stops notes of other processes

	mu      sync.Mutex // held by what changes the plan
	wait    time.Duration
	closed  bool
	failure atomic.Pointer[failure]
}

// A kind is what plans of one-sided programs and of two-sided ones do each in their
// own way.
type kind interface {
	// hash is of all that processes must have alike.
	hash(w *proof.Hash)
	// arena is how many bytes a rank's arena has, and reaches says, by rank, of which
	// other ranks a seat is to reach it.
	arena(rank int) uint64
	reaches(s *seat) []bool
	// sit gives a seat its part of the program, and says what memory that needs;
	// reached is called when the seat has reached all arenas.
	sit(s *seat) (needs, error)
	reached(s *seat) error

	// choose settles a call's numbers, and narrow makes it of fewer replicas. shares are the
	// buffers of a call that steps access on other ranks.
	choose(c *Call, args *CallArgs, geo data.Geometry) error
	narrow(c *Call, geo data.Geometry, replicas int) error
	shares() []ir.Buf
	// netTable is what the program sends where ranks are of several nodes, whose numbers it gets.
	netTable(node []int) (abi.NetTable, error)
	// ready is the launch of a seat, where it has one. Memory is that of all ranks.
	ready(c *Call, s *seat, args *CallArgs, memory []abi.OneMemory) (*executor.Ready, error)

	// before reads what the block of a status had done when its launch began, and has
	// the status name the block as the program does. explain returns the error that both describe.
	before(s *seat, status *abi.Status) ([]byte, error)
	explain(status *abi.Status, before []byte, replicas uint32) error
}

// A seat is a GPU of this process with its ranks.
type seat struct {
	gpu    executor.GPU
	ranks  []int
	one    *abi.OnePart    // of a one-sided program
	two    *twoPart        // of a two-sided one
	stream executor.Stream // for what clears memory
	arenas []uint64        // of its ranks, in their order
	lanes  int             // of its port
	port   executor.Port   // where its steps ask for one
	reach  []uint64        // of all ranks, as the GPU has them
	own    uint64          // states, status and tables
	at     struct {
		states, ends, sent, status, calls, inboxes uint64
		tables                                     []uint64
	}
	net       seatNet  // in a plan of several nodes
	leave     [][]byte // handles that it reached
	leaveHost [][]byte // and those of memory of the host
	free      []int    // tables for calls that no call has
}

// needs is what a seat has in its own memory, beside a status.
type needs struct {
	states uint64   // bytes
	lanes  int      // of a port, or 0
	sent   int      // lanes of the network, or 0
	boxes  int      // ranks whose inboxes it may use, or 0
	tables [][]byte // that do not change
	call   uint64   // bytes of a table that each call has, if any
	calls  int      // that there are at once
}

// Prepare makes a proven program ready to run. It compares with the
// other processes what is to be run, and by what.
func Prepare(ctx context.Context, p *either.Program, opt Options) (*Plan, error) {
	if opt.GPUs == nil {
		return nil, errors.New("executor: no GPUs")
	}
	of, err := executor.NewChecked(p, opt.Check, opt.Unproven, opt.Lower)
	if err != nil {
		return nil, err
	}
	if opt.Types == nil {
		opt.Types = []data.DType{data.BF16, data.F32}
	}
	plan, err := newPlan(ctx, of, &opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opt.GPUs.Name(), err)
	}
	return plan, nil
}

func newPlan(ctx context.Context, checked executor.Checked, opt *Options) (*Plan, error) {
	plan := &Plan{checked: checked, of: map[int]*seat{}, x: opt.Exchange, wait: executor.DefaultWait}
	if err := plan.prepare(ctx, opt); err != nil {
		return nil, errors.Join(err, plan.free())
	}
	return plan, nil
}

// prepare does what may fail half way. If one process fails, all receive its error.
func (p *Plan) prepare(ctx context.Context, opt *Options) error {
	err := p.choose(opt)
	if err == nil {
		err = p.seat(opt)
	}
	if err := p.greet(ctx, nodeOf(opt), err); err != nil {
		return err
	}
	err = errors.Join(p.plot(opt), p.placeArenas(ctx))
	if err = p.settle(ctx, opt, errors.Join(err, p.checkLines())); err == nil {
		err = p.allocate()
	}
	if err == nil {
		p.order, err = opt.GPUs.NewLaunchOrder()
	}
	if err == nil {
		err = p.startPorts()
	}
	if err := p.reach(ctx, err); err != nil {
		return err
	}
	return p.connect(ctx)
}

// choose makes the plan of a kind.
func (p *Plan) choose(opt *Options) (err error) {
	if err := p.checked.CheckThen(opt.GPUs); err != nil {
		return err
	}
	if err := checkOutputs(p.checked.Image); err != nil {
		return err
	}
	if p.checked.Image.One != nil {
		p.kind, err = newOneSided(p, opt)
	} else {
		p.kind, err = newTwoSided(p, opt)
	}
	return err
}

func (p *Plan) program() *either.Program { return p.checked.Image.Program }

// seat chooses the ranks of this process, and their GPUs.
func (p *Plan) seat(opt *Options) error {
	ranks := p.program().Coll.Ranks
	p.ranks = opt.Ranks
	switch {
	case p.ranks != nil:
	case p.x == nil || p.x.Size() == 1:
		for r := range ranks {
			p.ranks = append(p.ranks, r)
		}
	case p.x.Size() == ranks:
		p.ranks = []int{p.x.Index()}
	default:
		return fmt.Errorf("there are %d processes and %d ranks, and it is not said who drives which", p.x.Size(), ranks)
	}
	gpus, err := opt.GPUs.GPUs()
	if err != nil {
		return err
	}
	for i, r := range p.ranks {
		if r < 0 || r >= ranks || slices.Contains(p.ranks[:i], r) {
			return fmt.Errorf("ranks %v of %d", p.ranks, ranks)
		}
		if i < len(gpus) {
			s := &seat{gpu: gpus[i], reach: make([]uint64, ranks)}
			if s.stream, err = s.gpu.NewStream(); err != nil {
				return err
			}
			p.seats = append(p.seats, s)
		}
		s := p.seats[i%len(gpus)]
		s.ranks = append(s.ranks, r)
		p.of[r] = s
	}
	return nil
}

// Ranks returns the ranks that this process drives.
func (p *Plan) Ranks() []int { return slices.Clone(p.ranks) }

// GPU returns where a rank of this process is.
func (p *Plan) GPU(rank int) executor.GPU { return p.of[rank].gpu }

// GPUs returns the GPUs that have ranks of this process. A call is launched on one
// stream of each.
func (p *Plan) GPUs() []executor.GPU {
	list := make([]executor.GPU, len(p.seats))
	for i, s := range p.seats {
		list[i] = s.gpu
	}
	return list
}

// Program returns what the plan runs.
func (p *Plan) Program() *either.Program { return p.program() }

// Even says that all chunks of a call must have one length.
func (p *Plan) Even() bool { return p.checked.Image.Even }

// MaxReplicas and MaxTile are what the plan's memory is made for. A two-sided program has
// one replica.
func (p *Plan) MaxReplicas() int { return p.replicas }

// MaxTile returns the most bytes of a chunk that a replica moves in a pass.
func (p *Plan) MaxTile() int64 { return p.tile }

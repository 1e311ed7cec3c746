package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mscclc/ir"
	"mscclc/ir/verify"
)

// PlanOptions are Prepare's. Zero fields mean the usual.
type PlanOptions struct {
	GPUs     GPUs
	Check    verify.Options // as in Options
	Unproven bool           // as in Options

	// Exchange reaches the processes that drive the other ranks; Ranks are those
	// that this one drives. Without an exchange it drives all; with one, and no
	// Ranks, process i of as many as there are ranks drives rank i.
	Exchange *Exchange
	Ranks    []int

	// Columns and TileBytes are what memory is made for, as in Options: no call has
	// more. The usual ones are PlanColumns and PlanTile.
	Columns   int
	TileBytes int64

	Types []DType // whose kernels are loaded now, and not by the first call: BF16 and F32
}

// What a plan's memory is made for, if nothing else is asked.
const (
	PlanColumns = 32
	PlanTile    = 64 << 10
)

// A Plan is a one-sided program on GPUs: its tables and the memory that ranks
// share, made once. Ranks go round the GPUs, and those on one GPU are launched
// together. Methods may be called from any goroutine. Where there is an exchange,
// Prepare, Bind, Reset and Close are collective: all processes call them in the
// same order.
type Plan struct {
	loaded Loaded // the image and its proof; there is no instance
	layout OneLayout
	ranks  []int
	seats  []*seat
	of     map[int]*seat // by rank
	flight Flight
	x      *Exchange
	topic  uint64
	deaf   func() // ends what is heard of other processes
	few    bool   // launches of few packets go their own way

	mu      sync.Mutex // held by what changes the plan
	wait    time.Duration
	closed  bool
	failure atomic.Pointer[failure]
}

// A seat is a GPU of this process with its ranks.
type seat struct {
	gpu    GPU
	ranks  []int
	part   *OnePart
	stream Stream   // for what clears memory
	arenas []uint64 // of its ranks, in their order
	own    uint64   // states, status and tables
	at     struct{ states, status, blocks, steps, operands, tables uint64 }
	memory []OneMemory // scratch, packets and flags of all ranks, as the GPU has them
	leave  [][]byte    // handles that it reached
	free   []int       // tables of memory that no call has
}

// callTables is how many calls a plan of more than OneRanks ranks has at once.
const callTables = 64

// Prepare makes a proven one-sided program ready to run. It compares with the
// other processes what is to be run, and by what.
func Prepare(ctx context.Context, p *ir.Program, opt PlanOptions) (*Plan, error) {
	if opt.GPUs == nil {
		return nil, errors.New("executor: no GPUs")
	}
	proof := prover{p: p, check: opt.Check, unproven: opt.Unproven}
	if err := proof.load(); err != nil {
		return nil, err
	}
	img, err := newImage(p)
	if err != nil {
		return nil, err
	}
	if img.One == nil {
		return nil, fmt.Errorf("a plan is of a one-sided program, and this one is two-sided: %w", ErrNotSupported)
	}
	setDefault(&opt.Columns, PlanColumns)
	setDefault(&opt.TileBytes, PlanTile)
	if opt.Types == nil {
		opt.Types = []DType{BF16, F32}
	}
	if err := img.One.room(opt.Columns, opt.TileBytes); err != nil {
		return nil, err
	}
	return newPlan(ctx, img, proof, &opt)
}

func newPlan(ctx context.Context, img *Image, proof prover, opt *PlanOptions) (*Plan, error) {
	plan := &Plan{loaded: Loaded{img: img, prover: proof}, of: map[int]*seat{}, x: opt.Exchange, wait: DefaultWait, few: os.Getenv(FewVariable) == "1"}
	if err := plan.prepare(ctx, opt); err != nil {
		return nil, fmt.Errorf("%s: %w", opt.GPUs.Name(), errors.Join(err, plan.free()))
	}
	return plan, nil
}

// prepare does what may fail half way. What one process cannot do, all hear of.
func (p *Plan) prepare(ctx context.Context, opt *PlanOptions) error {
	err := p.seat(opt)
	if err := p.greet(ctx, err); err != nil {
		return err
	}
	if p.layout, err = p.one().Layout(); err == nil {
		err = p.allocate(opt.Types)
	}
	if err == nil {
		p.flight, err = opt.GPUs.NewFlight()
	}
	return p.reach(ctx, err)
}

func (p *Plan) one() *OneImage { return p.loaded.img.One }

func (p *Plan) program() *ir.Program { return p.loaded.img.Program }

// seat chooses the ranks of this process, and their GPUs.
func (p *Plan) seat(opt *PlanOptions) error {
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
			s := &seat{gpu: gpus[i], memory: make([]OneMemory, ranks)}
			if s.stream, err = s.gpu.NewStream(); err != nil {
				return err
			}
			p.seats = append(p.seats, s)
		}
		s := p.seats[i%len(gpus)]
		s.ranks = append(s.ranks, r)
		p.of[r] = s
	}
	for _, s := range p.seats {
		s.part = p.one().Part(func(r int) bool { return slices.Contains(s.ranks, r) })
	}
	return nil
}

// Ranks are those that this process drives.
func (p *Plan) Ranks() []int { return slices.Clone(p.ranks) }

// GPU is where a rank of this process is.
func (p *Plan) GPU(rank int) GPU { return p.of[rank].gpu }

// GPUs are those that have ranks of this process. A call is launched on one
// stream of each.
func (p *Plan) GPUs() []GPU {
	list := make([]GPU, len(p.seats))
	for i, s := range p.seats {
		list[i] = s.gpu
	}
	return list
}

// Program is what the plan runs.
func (p *Plan) Program() *ir.Program { return p.program() }

// Even says that all chunks of a call must have one length.
func (p *Plan) Even() bool { return p.loaded.Even() }

// MaxColumns and MaxTile are what the plan's memory is made for.
func (p *Plan) MaxColumns() int { return p.one().Columns }

// MaxTile is the most bytes of a chunk that a column moves in a pass.
func (p *Plan) MaxTile() int64 { return p.one().Tile }

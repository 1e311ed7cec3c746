package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/executor/proof"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// Options are Load's.
type Options struct {
	Device Device

	// Check is what p is judged with: the budgets of the proof, and where they are
	// not 0, slots and chunks of a message other than those that p's header
	// gives. A call that has less than these is proven anew.
	Check verify.Options

	// Unproven loads and runs p without asking verify: the caller wants to see what
	// becomes of it. The buffers are safe in any case, and a run that waits for
	// ever ends in a timeout.
	Unproven bool

	// Lower, where not nil, makes what runs of a two-sided p (mscclc.Lower). It is trusted: p alone is proven, with
	// messages that hold what a step sends.
	Lower func(p *ir.Program) (*ir.Program, error)

	// Columns and TileBytes are what the memory of a one-sided program is made for: no
	// run has more replicas, or moves more bytes of a chunk in one pass. 0 means
	// DefaultMaxColumns and DefaultTileBytes.
	Columns   int
	TileBytes int64
}

// A Loaded is a program on a device. Its methods may be called at once; runs go
// one after the other.
type Loaded struct {
	mu       sync.Mutex
	img      *abi.Image
	device   Device
	instance Instance
	proof    *proof.Prover
}

// Load makes p runnable on a device. It takes only what ir/verify proves, or
// has proven: the proofs of large programs are kept in a cache, which
// MSCCLC_CACHE moves or turns off. P must not change as long as it is loaded.
func Load(p *ir.Program, opt Options) (*Loaded, error) {
	if opt.Device == nil {
		return nil, errors.New("executor: no device")
	}
	p, prover, err := proven(p, opt.Check, opt.Unproven, opt.Lower)
	if err != nil {
		return nil, err
	}
	img, err := abi.NewImage(p)
	if err != nil {
		return nil, err
	}
	if one := img.One; one != nil {
		columns, tile := cmp.Or(opt.Columns, DefaultMaxColumns), cmp.Or(opt.TileBytes, one.UsualTile(DefaultTileBytes))
		if err := one.Reserve(columns, tile); err != nil {
			return nil, err
		}
	}
	instance, err := opt.Device.Open(img)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opt.Device.Name(), err)
	}
	return &Loaded{img: img, device: opt.Device, instance: instance, proof: prover}, nil
}

// proven proves p, and lowers it where there is a lowering.
func proven(p *ir.Program, check verify.Options, unproven bool,
	lower func(*ir.Program) (*ir.Program, error)) (*ir.Program, *proof.Prover, error) {
	if lower != nil && check.MessageChunks == 0 {
		check.MessageChunks = ir.WholeSteps
	}
	prover := proverOf(p, check, unproven)
	err := prover.Prove()
	if err == nil && lower != nil {
		p, err = lower(p)
	}
	return p, prover, err
}

func proverOf(p *ir.Program, check verify.Options, unproven bool) *proof.Prover {
	if unproven {
		return proof.None(p)
	}
	return proof.New(p, check)
}

// Image returns the tables of the program, for replays. They must not be changed.
func (l *Loaded) Image() *abi.Image { return l.img }

// Close frees what the program has on the device.
func (l *Loaded) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.instance == nil {
		return nil
	}
	err := l.instance.Close()
	l.instance = nil
	return err
}

// Program returns the program that runs: with Options.Lower, what that has made.
func (l *Loaded) Program() *ir.Program { return l.img.Program }

// Even says that the program runs only where all chunks have one length.
func (l *Loaded) Even() bool { return l.img.Even }

// DefaultWait is how long one wait may last.
const DefaultWait = 10 * time.Minute

// A Result is what Run tells of a call that succeeded.
type Result struct {
	Elapsed time.Duration // of the kernel alone where the device measures that (Stop.Kernel), else of the launch
	Chunk   int64         // elements of the longest chunk
	Tiles   int64         // passes over the steps
}

// DefaultTileBytes keeps what a block works on in a core's cache.
const DefaultTileBytes = launch.DefaultTileBytes

// Run does the collective once, and waits for its end. A wait that outlasts its
// time is a diag.List with code Timeout that names the step; ctx ends the run
// early. A call whose size, protocol, slots or tiles the proof of Load does not
// cover is proven first, once, and refused with what verify says.
func (l *Loaded) Run(ctx context.Context, args Args) (Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.instance == nil {
		return Result{}, errors.New("executor: run of a closed program")
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	launch, err := l.launch(&args)
	if err != nil {
		return Result{}, err
	}
	if launch.One != nil && launch.One.Passes == 0 {
		return Result{Chunk: int64(launch.One.Chunk)}, nil
	}
	begin := time.Now()
	stop, err := l.start(ctx, launch, &args)
	if err != nil {
		return Result{}, err
	}
	return l.ended(ctx, launch, &stop, time.Since(begin))
}

// ended says how a launch ended.
func (l *Loaded) ended(ctx context.Context, launch *Launch, stop *Stop, elapsed time.Duration) (Result, error) {
	p := &launch.Params
	if stop.Kernel > 0 {
		elapsed = stop.Kernel
	}
	result := Result{Elapsed: elapsed, Chunk: int64(p.Chunk), Tiles: p.Tiles()}
	if one := launch.One; one != nil {
		result.Chunk, result.Tiles = int64(one.Chunk), int64(one.Passes)
	}
	switch stop.Status.Code {
	case abi.StatusOK:
		return result, nil
	case abi.StatusCancelled:
		return result, context.Cause(ctx)
	case abi.StatusTimeout:
		if launch.One != nil {
			return result, l.timeoutOne(launch.One, stop)
		}
		return result, l.timeout(p, stop)
	case abi.StatusStuck:
		return result, ErrStuck
	}
	return result, errors.New("the host has no memory or threads for all blocks")
}

// Prove returns what Run does before it looks at the buffers: it checks the other
// args, and proves what they ask for.
func (l *Loaded) Prove(args Args) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	geo, err := l.geometry(&args)
	if err != nil {
		return err
	}
	launch := &Launch{}
	if l.img.One != nil {
		return l.one(launch, geo, &args)
	}
	if err := l.params(launch, geo, &args); err != nil {
		return err
	}
	return l.proof.Cover(asked(&launch.Params))
}

// geometry checks the type, the reduction and the size of a call.
func (l *Loaded) geometry(args *Args) (geo data.Geometry, err error) {
	c := l.img.Program.Coll
	if args.DType >= data.NumDTypes || args.RedOp >= data.NumRedOps {
		return geo, fmt.Errorf("no element type %d or reduction %d", args.DType, args.RedOp)
	}
	size := args.DType.Size()
	if args.Elems < 0 || args.Elems > 1<<56/int64(c.Ranks)/int64(size) {
		return geo, fmt.Errorf("%d elements of a piece are out of range", args.Elems)
	}
	if l.img.Even && args.Elems%int64(c.Chunks) != 0 {
		return geo, diag.List{diag.New(diag.Uneven, diag.Span{},
			"a piece of length %d does not divide into %d chunks, which this program needs", args.Elems, c.Chunks).
			WithHint("give a multiple of %d elements", c.Chunks)}
	}
	return data.NewGeometry(c, args.Elems, size), l.checkAvg(args.DType, args.RedOp)
}

// launch checks args, computes the numbers of the call, and sees to its proof.
func (l *Loaded) launch(args *Args) (*Launch, error) {
	geo, err := l.geometry(args)
	if err != nil {
		return nil, err
	}
	launch := &Launch{Threads: args.Threads, PerBlock: args.PerBlock, Trace: args.Trace}
	if args.Trace != nil {
		*args.Trace = Trace{}
	}
	if launch.Memory, err = memory(geo, args); err != nil {
		return nil, err
	}
	if l.img.One != nil {
		return launch, l.one(launch, geo, args)
	}
	size := int64(args.DType.Size())
	launch.Scratch = make([]int64, geo.Coll.Ranks)
	for r := range l.img.Program.Scratch {
		launch.Scratch[r] = int64(l.img.Program.Scratch[r]) * geo.Chunk * size
		if geo.Chunk > 0 && launch.Scratch[r]/size/geo.Chunk != int64(l.img.Program.Scratch[r]) {
			return nil, fmt.Errorf("scratch of rank %d is out of range", r)
		}
	}
	if err := l.params(launch, geo, args); err != nil {
		return nil, err
	}
	if launch.Watch = args.Watch; launch.Watch != nil {
		if err := launch.Watch.lay(l.img, &launch.Params); err != nil {
			return nil, err
		}
	}
	return launch, l.proof.Cover(asked(&launch.Params))
}

// checkAvg reports whether averages of t can be computed, where op is one. Their sums must be over all ranks. Of floats
// it must be known which operands are to be scaled, and of integers which steps make complete sums.
func (l *Loaded) checkAvg(t data.DType, op data.RedOp) error {
	c := l.img.Program.Coll
	if op != data.Avg || !c.Reduces() || c.Ranks == 1 && c.Kind != ir.Custom && c.Kind != ir.Opaque {
		return nil
	}
	if c.Kind == ir.Custom || c.Kind == ir.Opaque {
		return fmt.Errorf("avg of a custom collective: %w", ErrNotSupported)
	}
	if t.Info().Float && !l.img.Scales {
		return fmt.Errorf("avg of floats: %w (%w)", l.img.Mixed, ErrNotSupported)
	}
	if !t.Info().Float && !l.img.Final {
		return fmt.Errorf("avg of integers by a program in which no step is marked final: %w", ErrNotSupported)
	}
	return nil
}

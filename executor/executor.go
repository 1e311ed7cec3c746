package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"mscclc/executor/abi"
	"mscclc/executor/launch"
	"mscclc/ir/either"
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
	Lower func(p *either.Program) (*either.Program, error)

	// Replicas and TileBytes are what the memory of a one-sided program is made for: no
	// run has more replicas, or moves more bytes of a chunk in one pass. 0 means
	// DefaultMaxReplicas and DefaultTileBytes.
	Replicas  int
	TileBytes int64
}

// A Loaded is a program on a device. Its methods may be called at once; runs go
// one after the other.
type Loaded struct {
	mu       sync.Mutex
	of       Checked
	device   Device
	instance Instance
}

// Load makes p runnable on a device. It takes only what ir/verify proves, or
// has proven: the proofs of large programs are kept in a cache, which
// MSCCLC_CACHE moves or turns off. P must not change as long as it is loaded.
func Load(p *either.Program, opt Options) (*Loaded, error) {
	if opt.Device == nil {
		return nil, errors.New("executor: no device")
	}
	of, err := NewChecked(p, opt.Check, opt.Unproven, opt.Lower)
	if err != nil {
		return nil, err
	}
	if err := of.CheckThen(opt.Device); err != nil {
		return nil, fmt.Errorf("%s: %w", opt.Device.Name(), err)
	}
	if one := of.Image.One; one != nil {
		replicas, tile := cmp.Or(opt.Replicas, DefaultMaxReplicas), cmp.Or(opt.TileBytes, one.UsualTile(DefaultTileBytes))
		if err := one.Reserve(replicas, tile); err != nil {
			return nil, err
		}
	}
	instance, err := opt.Device.Open(of.Image)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opt.Device.Name(), err)
	}
	return &Loaded{of: of, device: opt.Device, instance: instance}, nil
}

// Image returns the tables of the program, for replays. They must not be changed.
func (l *Loaded) Image() *abi.Image { return l.of.Image }

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
func (l *Loaded) Program() *either.Program { return l.of.Image.Program }

// Even says that the program runs only where all chunks have one length.
func (l *Loaded) Even() bool { return l.of.Image.Even }

// DefaultWait is how long one wait may last.
const DefaultWait = 10 * time.Minute

// A Result describes a call that succeeded.
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
			return result, l.of.TimeoutOne(launch.One, stop)
		}
		return result, l.of.Timeout(p, stop)
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
	geo, _, err := l.of.Geometry(&args)
	if err != nil {
		return err
	}
	launch := &Launch{}
	if l.of.Image.One != nil {
		if err := l.room(&args); err != nil {
			return err
		}
		return l.of.one(launch, geo, &args)
	}
	if err := l.of.Params(launch, geo, &args); err != nil {
		return err
	}
	return l.of.Proof.Cover(Asked(&launch.Params))
}

// launch checks args, computes the numbers of the call, and sees to its proof.
func (l *Loaded) launch(args *Args) (*Launch, error) {
	geo, rows, err := l.of.Geometry(args)
	if err != nil {
		return nil, err
	}
	launch := &Launch{Threads: args.Threads, PerBlock: args.PerBlock, Trace: args.Trace, Rows: rows}
	if args.Trace != nil {
		*args.Trace = Trace{}
	}
	outSize := args.DType.Size()
	if rows != nil {
		if err := rowMemory(l.of.Image.Program.Then, rows, geo, args); err != nil {
			return nil, err
		}
		launch.RowMemory, outSize = args.Rows.Ranks, int(rows.OutputSize)
	}
	if launch.Memory, err = memory(geo, args, outSize); err != nil {
		return nil, err
	}
	if l.of.Image.One != nil {
		if err := l.room(args); err != nil {
			return nil, err
		}
		return launch, l.of.one(launch, geo, args)
	}
	size := int64(args.DType.Size())
	launch.Scratch = make([]int64, geo.Coll.Ranks)
	for r := range l.of.Image.Program.Scratch {
		launch.Scratch[r] = int64(l.of.Image.Program.Scratch[r]) * geo.Chunk * size
		if geo.Chunk > 0 && launch.Scratch[r]/size/geo.Chunk != int64(l.of.Image.Program.Scratch[r]) {
			return nil, fmt.Errorf("scratch of rank %d is out of range", r)
		}
	}
	if err := l.of.Params(launch, geo, args); err != nil {
		return nil, err
	}
	if launch.Watch = args.Watch; launch.Watch != nil {
		if err := launch.Watch.lay(l.of.Image, &launch.Params); err != nil {
			return nil, err
		}
	}
	return launch, l.of.Proof.Cover(Asked(&launch.Params))
}

package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"mscclc/executor/abi"
	"mscclc/executor/data"
)

// one fills in a launch of a one-sided program.
func (l *Loaded) one(launch *Launch, geo data.Geometry, args *Args) error {
	one, proto := l.img.One, l.img.Program.Protocol
	if args.Protocol != nil && *args.Protocol != proto {
		return fmt.Errorf("a one-sided program of protocol %v cannot run as %v: %w", proto, *args.Protocol, ErrNotSupported)
	}
	columns := cmp.Or(args.Columns, one.Enough(min(DefaultColumns, one.Columns), geo.Chunk*int64(args.DType.Size())))
	tile := cmp.Or(args.TileBytes, one.UsualTile(DefaultTileBytes))
	wait := cmp.Or(args.Wait, DefaultWait)
	if wait < time.Millisecond || args.Threads < 0 || args.PerBlock < 0 {
		return fmt.Errorf("waits of %v, %d threads or %d a block are out of range", wait, args.Threads, args.PerBlock)
	}
	p, err := one.Params(geo, args.DType, args.RedOp, columns, tile)
	if err != nil {
		return err
	}
	if launch.One, launch.Wait = &p, wait; args.Watch == nil {
		return nil
	}
	if columns != 1 || args.PerBlock > 0 {
		return fmt.Errorf("a launch of %d replicas of %d threads cannot be watched: %w", columns, args.PerBlock,
			ErrNotSupported)
	}
	launch.Watch = args.Watch
	return args.Watch.layOne(l.img, &p)
}

// start has the device launch. Where it has no room for all blocks at once, launches have one pass and the caller
// leaves replicas open, memory is made anew for half the replicas, of passes twice as long.
func (l *Loaded) start(ctx context.Context, launch *Launch, args *Args) (Stop, error) {
	for {
		stop, err := l.instance.Launch(ctx, launch)
		one := l.img.One
		if !errors.Is(err, ErrNoDevice) || one == nil || !one.OnePass || args.Columns > 0 || one.Columns == 1 {
			return stop, err
		}
		instance := l.instance
		l.instance = nil // until there is another
		if err := errors.Join(instance.Close(), one.Reserve(one.Columns/2, min(2*one.Tile, abi.MaxOneTile))); err != nil {
			return stop, err
		}
		if l.instance, err = l.device.Open(l.img); err != nil {
			l.instance = nil
			return stop, fmt.Errorf("%s: %w", l.device.Name(), err)
		}
		geo := data.Geometry{Coll: l.img.Program.Coll, Elems: int64(launch.One.Elems), Chunk: int64(launch.One.Chunk)}
		if err := l.one(launch, geo, args); err != nil {
			return stop, err
		}
	}
}

// Usual replicas: what memory is made for, and what a launch has.
const (
	DefaultMaxColumns = 8
	DefaultColumns    = 2
)

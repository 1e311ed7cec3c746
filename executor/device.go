package executor

import (
	"context"
	"errors"
	"time"

	"mscclc/executor/abi"
)

// ErrNotSupported says that this build or machine cannot do what was asked. It always comes wrapped in the reason.
var ErrNotSupported = errors.New("not supported")

// ErrNoDevice says that this machine lacks a device, or a part of it that a program needs. It always comes wrapped in
// the reason.
var ErrNoDevice = errors.New("not possible on this machine")

// A Device makes images runnable.
type Device interface {
	Name() string
	Open(img *abi.Image) (Instance, error)
}

// An Instance is one image on a device. It keeps the connections' state from
// launch to launch, and cleans it after one that failed. One launch runs at a
// time.
type Instance interface {
	// Launch runs the program once and waits for its end. The Stop says how it
	// ended; the error is of the device itself. A ctx that ends stops the launch.
	Launch(ctx context.Context, l *Launch) (Stop, error)
	Close() error
}

// A Launch is one call. Memory is by rank; Output is nil in place, where the
// two buffers begin InAt and OutAt bytes into Input.
type Launch struct {
	Params   abi.Params
	One      *abi.OneParams // instead, of a one-sided program
	Memory   []Memory
	Scratch  []int64       // bytes that each rank needs
	Messages uint64        // no connection carries more
	Wait     time.Duration // that one wait may last
	Threads  int           // of the host, for all blocks
	PerBlock int           // threads of each block, where each has its own; else 0
	Watch    *Watch        // or nil
	Trace    *Trace        // or nil
}

// Memory is the memory of one rank.
type Memory struct {
	Input, Output []byte
	InAt, OutAt   int64
}

// A Stop is how a launch ended: its status, what the block named there had
// behind it when the launch began (One, of a one-sided program), and, where a device
// knows, how long the kernel alone took.
type Stop struct {
	Status abi.Status
	Before abi.State
	One    abi.OneState
	Kernel time.Duration
}

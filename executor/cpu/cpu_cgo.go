//go:build cgo

package cpu

// #include "calls.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/abi"
	_ "mscclc/executor/fibers" // what calls.h declares
	_ "mscclc/kernels"         // a change to the kernel's headers must rebuild this package
)

type device struct{}

// Device returns the CPU.
func Device() executor.Device { return device{} }

func (device) Name() string { return "cpu" }

// TakesRows says that the CPU runs programs with an epilogue.
func (device) TakesRows() bool { return true }

func (device) Open(img *abi.Image) (executor.Instance, error) {
	if img.One != nil {
		return openOne(img.One)
	}
	return &instance{img: img, states: make([]abi.State, len(img.Blocks)),
		counters: make([]abi.Counters, len(img.Conns)), conns: make([]abi.ConnMemory, len(img.Conns))}, nil
}

// An instance holds what outlives a launch: the blocks' and connections' state,
// and the memory that the host gives a launch.
type instance struct {
	img      *abi.Image
	states   []abi.State
	counters []abi.Counters
	conns    []abi.ConnMemory
	stacks   region
	fifo     region
	scratch  region
	wire     wireKey
	messages uint64 // the most that any connection may have carried since the last reset
}

// A wireKey is what slots are laid out by. Packets of one layout must not be
// read as those of another.
type wireKey struct {
	proto, slots uint32
	stride       uint64
}

// Close frees the instance's memory.
func (in *instance) Close() error {
	in.stacks.free()
	in.fifo.free()
	in.scratch.free()
	return nil
}

// Launch runs the program once.
func (in *instance) Launch(ctx context.Context, l *executor.Launch) (executor.Stop, error) {
	if len(in.img.Blocks) == 0 {
		return executor.Stop{}, nil
	}
	if l.Watch != nil && l.PerBlock > 0 {
		return executor.Stop{}, errors.New("blocks of several threads cannot be watched")
	}
	if limit := 8192; l.PerBlock*len(in.img.Blocks) > limit {
		return executor.Stop{}, fmt.Errorf("%d blocks of %d threads each are over the limit of %d threads",
			len(in.img.Blocks), l.PerBlock, limit)
	}
	if err := in.prepare(l); err != nil {
		return executor.Stop{}, err
	}
	var records *executor.Records
	if l.Trace != nil {
		var err error
		if records, err = executor.NewRecords(l.Trace, in.img, &l.Params, in.img.Numbers()); err != nil {
			return executor.Stop{}, err
		}
	}
	status, took := in.run(ctx, l, records)
	if l.Trace != nil {
		executor.TakeRecords(l.Trace, in.img, records)
	}
	in.messages += l.Messages
	stop := executor.Stop{Status: *status, Kernel: took}
	if status.Code != abi.StatusOK {
		stop.Before = in.states[status.Block]
		in.reset()
	}
	return stop, nil
}

// reset forgets all messages and flags, as after a launch that left some
// after.
func (in *instance) reset() {
	clear(in.states)
	clear(in.counters)
	in.fifo.free()
	in.wire, in.messages = wireKey{}, 0
}

// prepare sees to the memory of a launch. Slots stay as they are from launch to
// launch, unless they are too small, of another protocol, or the 32 bits of a
// packet's flag would wrap.
func (in *instance) prepare(l *executor.Launch) error {
	p := &l.Params
	fits := in.wire.proto == p.Proto && in.wire.slots == p.Slots && in.wire.stride >= p.SlotStride
	if !fits || in.messages+l.Messages >= 1<<32-1 {
		in.reset()
		in.wire = wireKey{p.Proto, p.Slots, p.SlotStride}
	}
	p.SlotStride = in.wire.stride
	scratch := int64(0)
	for _, n := range l.Scratch {
		if scratch += pad(n); n < 0 || scratch < 0 {
			return errors.New("scratch is out of range")
		}
	}
	fifo := uint64(len(in.counters)) * uint64(p.Slots) * p.SlotStride
	if len(in.counters) > 0 && fifo/uint64(len(in.counters))/uint64(p.Slots) != p.SlotStride {
		return errors.New("slots are out of range")
	}
	return errors.Join(in.fifo.grow("slots", fifo), in.scratch.grow("scratch", uint64(scratch)),
		in.stacks.grow("stacks", uint64(len(in.img.Blocks))*C.MSCCLC_STACK))
}

// pad keeps the ranks' scratch apart, on cache lines of their own.
func pad(n int64) int64 { return (n + 127) &^ 127 }

// run hands the launch to the host, and returns how it ended and how long it took. Everything that Go allocated is
// pinned, as the tables hold its addresses as numbers.
func (in *instance) run(ctx context.Context, l *executor.Launch,
	records *executor.Records) (*abi.Status, time.Duration) {
	var pin runtime.Pinner
	defer pin.Unpin()
	status := &abi.Status{LimitNS: uint64(l.Wait)}
	ranks := make([]abi.RankMemory, len(l.Memory))
	scratch := in.scratch.address
	for r := range ranks {
		input, output := addresses(&pin, &l.Memory[r])
		ranks[r] = abi.RankMemory{Input: input, Output: output, Scratch: scratch}
		scratch += uint64(pad(l.Scratch[r]))
	}
	p := &l.Params
	p.Steps, p.Blocks, p.Ranks = address(&pin, in.img.Steps), address(&pin, in.img.Blocks), address(&pin, ranks)
	p.States, p.Conns = address(&pin, in.states), address(&pin, in.conns)
	counters := address(&pin, in.counters)
	for i := range in.conns {
		at := counters + uint64(i)*uint64(unsafe.Sizeof(abi.Counters{}))
		in.conns[i] = abi.ConnMemory{Slots: in.fifo.address + uint64(i)*uint64(p.Slots)*p.SlotStride,
			Head: at, Tail: at + uint64(unsafe.Offsetof(abi.Counters{}.Tail))}
	}
	pin.Pin(status)
	p.StatusAt = uint64(uintptr(unsafe.Pointer(status)))
	var trace *C.struct_abi_trace
	if r := records; r != nil {
		trace = &C.struct_abi_trace{rows: C.u64(address(&pin, r.Rows)), first: C.u64(address(&pin, r.First))}
	}

	took := cancellable(ctx, status, func() {
		launch := (*C.struct_abi_launch)(unsafe.Pointer(p))
		if l.PerBlock > 0 {
			C.mscclc_cpu_threads(launch, trace, C.u32(l.PerBlock))
		} else {
			in.fibers(launch, trace, l, ranks)
		}
	})
	return status, took
}

// fibers runs the launch with each block a fiber. One that is watched has one
// thread.
func (in *instance) fibers(launch *C.struct_abi_launch, trace *C.struct_abi_trace, l *executor.Launch,
	ranks []abi.RankMemory) {
	w := l.Watch
	if w == nil {
		C.mscclc_cpu_fibers(launch, trace, C.u32(workers(l.Threads, len(in.img.Blocks))), C.u64(in.stacks.address), nil)
		return
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	watch := hostWatch(&pin, w, l.Params.StatusAt, &in.scratch)
	if c := w.Probe; c != nil {
		watch.probe = C.mscclc_cpu_cell(launch, (*C.struct_abi_rank)(unsafe.Pointer(&ranks[c.Rank])), C.u32(c.Buf),
			C.u32(c.Index), 0)
	}
	C.mscclc_cpu_fibers(launch, trace, 1, C.u64(in.stacks.address), watch)
	w.FirstSeen = uint64(watch.first_seen)
}

// hostWatch is w as the host takes it, but for the probe.
func hostWatch(pin *runtime.Pinner, w *executor.Watch, status uint64, scratch *region) *C.struct_host_watch {
	h := &C.struct_host_watch{status: C.u64(status), actions: C.u64(address(pin, w.Actions)),
		first: C.u64(address(pin, w.First)), after: C.u64(address(pin, w.After)), scratch: C.u64(scratch.address),
		scratch_words: C.u64(scratch.bytes / 8), poison: C.u64(w.Poison)}
	if s := w.Stale; s != nil {
		h.stale, h.stale_value = C.u64(s.Action+1), C.u64(s.Value)
		if s.Action == executor.StaleCaller {
			h.stale = C.STALE_CALLER
		}
		if s.Last {
			h.stale_last = 1
		}
	}
	return h
}

// address pins a table and gives its address.
func address[T any](pin *runtime.Pinner, s []T) uint64 {
	p := unsafe.SliceData(s)
	if p == nil {
		return 0
	}
	pin.Pin(p)
	return uint64(uintptr(unsafe.Pointer(p)))
}

// A region is memory of the host, zeroed, that takes space only where it is
// touched.
type region struct{ address, bytes uint64 }

func (r *region) grow(what string, bytes uint64) error {
	if bytes <= r.bytes {
		return nil
	}
	r.free()
	r.address = uint64(C.mscclc_cpu_map(C.u64(bytes)))
	if r.address == 0 {
		return fmt.Errorf("the host has no %d bytes for %s", bytes, what)
	}
	r.bytes = bytes
	return nil
}

func (r *region) free() {
	if r.address != 0 {
		C.mscclc_cpu_unmap(C.u64(r.address), C.u64(r.bytes))
	}
	*r = region{}
}

//go:build cgo

package cpu

// #include "calls.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/abi"
)

// A oneInstance is a loaded one-sided program, of all ranks, and what outlives a
// launch: states, scratch, packets and flags, which are zero at first.
type oneInstance struct {
	img                     *abi.OneImage
	part                    *abi.OnePart
	layout                  abi.OneLayout
	states                  []abi.OneState // by block and replica
	memory                  []abi.OneMemory
	scratch, packets, flags region
	stacks, rows            region
	rowMemory               []abi.RowMemory // of a program with an epilogue
}

func openOne(img *abi.OneImage) (executor.Instance, error) {
	layout, err := img.Layout()
	if err != nil {
		return nil, err
	}
	in := &oneInstance{img: img, part: img.Part(func(int) bool { return true }), layout: layout,
		states: make([]abi.OneState, len(img.Blocks)*img.Replicas)}
	return in, nil
}

// Close frees the instance's memory.
func (in *oneInstance) Close() error {
	in.reset()
	in.stacks.free()
	in.rows.free()
	return nil
}

// reset forgets all passes, packets and signals, as after a launch that left some after.
func (in *oneInstance) reset() {
	clear(in.states)
	in.scratch.free()
	in.packets.free()
	in.flags.free()
}

// Launch runs the program once.
func (in *oneInstance) Launch(ctx context.Context, l *executor.Launch) (executor.Stop, error) {
	blocks := len(in.img.Blocks) * int(l.One.Replicas)
	if blocks == 0 {
		return executor.Stop{}, nil
	}
	if limit := 8192; l.PerBlock*blocks > limit {
		return executor.Stop{}, fmt.Errorf("%d blocks of %d threads each are over the limit of %d threads", blocks,
			l.PerBlock, limit)
	}
	ranks := uint64(len(l.Memory))
	if err := errors.Join(in.scratch.grow("scratch", ranks*in.layout.Scratch),
		in.packets.grow("packets", ranks*in.layout.Packets), in.flags.grow("flags", ranks*in.layout.FlagMem),
		in.stacks.grow("stacks", uint64(blocks)*C.MSCCLC_STACK), in.rowRoom(l, blocks)); err != nil {
		return executor.Stop{}, err
	}
	status, took, err := in.run(ctx, l, blocks)
	if err != nil {
		return executor.Stop{}, err
	}
	stop := executor.Stop{Status: *status, Kernel: took}
	if status.Code != abi.StatusOK {
		stop.One = in.states[int(status.Block)*in.img.Replicas+int(status.Replica)]
		in.reset()
	}
	return stop, nil
}

// run hands the launch to the host, and returns how it ended and how long it took. Everything that Go allocated is
// pinned, as the launch holds its addresses as numbers.
func (in *oneInstance) run(ctx context.Context, l *executor.Launch, blocks int) (*abi.Status, time.Duration, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	p, status := l.One, &abi.Status{LimitNS: uint64(l.Wait)}
	pin.Pin(status)
	p.StatusAt, p.States = uint64(uintptr(unsafe.Pointer(status))), address(&pin, in.states)
	if !in.part.Into(p) {
		p.Blocks, p.Steps, p.Operands = address(&pin, in.part.Blocks), address(&pin, in.part.Steps),
			address(&pin, in.part.Operands)
	}
	in.memory = in.memory[:0]
	for r := range l.Memory {
		input, output := addresses(&pin, &l.Memory[r])
		at := uint64(r)
		in.memory = append(in.memory,
			abi.OneMemory{Input: input, Output: output, Scratch: in.scratch.address + at*in.layout.Scratch,
				Packets: in.packets.address + at*in.layout.Packets, Flags: in.flags.address + at*in.layout.FlagMem})
	}
	if copy(p.Rank[:], in.memory) < len(in.memory) {
		p.Ranks = address(&pin, in.memory)
	}
	var rows []abi.OneRecord
	if l.Trace != nil {
		n, err := executor.RecordRoom(l.Trace, p, in.part)
		if err != nil {
			return nil, 0, err
		}
		rows = make([]abi.OneRecord, n)
		p.Trace = address(&pin, rows)
	}
	took := cancellable(ctx, status, func() {
		launch := (*C.struct_abi_one_launch)(unsafe.Pointer(p))
		switch w := l.Watch; {
		case l.Rows != nil:
			in.runRows(&pin, p, l, blocks)
		case w != nil:
			watch := hostWatch(&pin, w, p.StatusAt, &in.scratch)
			if c := w.Probe; c != nil {
				watch.probe = C.u64(p.Address(&in.memory[c.Rank], c.Buf, c.Index, c.Pass))
			}
			C.mscclc_cpu_fibers_onesided(launch, 1, C.u64(in.stacks.address), watch,
				C.struct_host_help{})
			w.FirstSeen = uint64(watch.first_seen)
		case l.PerBlock > 0:
			C.mscclc_cpu_threads_onesided(launch, C.u32(l.PerBlock))
		default:
			C.mscclc_cpu_fibers_onesided(launch, C.u32(workers(l.Threads, blocks)), C.u64(in.stacks.address), nil,
				C.struct_host_help{})
		}
	})
	if l.Trace != nil {
		executor.TakeRows(l.Trace, in.img, in.part, p, rows)
	}
	return status, took, nil
}

// cancellable runs a launch, which ctx ends early, and returns how long it took.
func cancellable(ctx context.Context, status *abi.Status, run func()) time.Duration {
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		atomic.CompareAndSwapUint32(&status.Code, abi.StatusOK, abi.StatusCancelled)
		close(cancelled)
	})
	begin := time.Now()
	run()
	took := time.Since(begin)
	if !stop() {
		<-cancelled
	}
	return took
}

// workers returns how many OS threads run a number of blocks.
func workers(threads, blocks int) int {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return min(threads, blocks)
}

// addresses pins a rank's buffers.
func addresses(pin *runtime.Pinner, m *executor.Memory) (input, output uint64) {
	base := address(pin, m.Input)
	if m.Output != nil {
		return base + uint64(m.InAt), address(pin, m.Output)
	}
	return base + uint64(m.InAt), base + uint64(m.OutAt)
}

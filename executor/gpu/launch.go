//go:build cgo && linux

package gpu

// #include "driver.h"
// #include <stdlib.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"mscclc/executor"
	"mscclc/ir"
)

// entries are the kernel's, by protocol. LL and LL16 have the same bytes on the
// wire.
var entries = [ir.NumProtocols]string{ir.Simple: "mscclc_simple", ir.LL: "mscclc_ll", ir.LL16: "mscclc_ll", ir.LL128: "mscclc_ll128"}

// A kernel is an entry on a GPU.
type kernel struct {
	gpu   *card
	entry unsafe.Pointer
}

// mostThreads is what the kernel is built for, and what a block has where all of a
// GPU's blocks have room; leastThreads is what it has at least.
const mostThreads, leastThreads = 512, 64

// fit returns the threads of a block, as many as let all blocks be there at once,
// since they wait for each other; and how many such blocks have room.
func (k kernel) fit(blocks, perBlock int) (threads, room int, err error) {
	if perBlock > mostThreads || perBlock%32 != 0 {
		return 0, 0, fmt.Errorf("blocks of %d threads: a GPU has them by 32, up to %d", perBlock, mostThreads)
	}
	first, last := mostThreads, leastThreads
	if perBlock > 0 {
		first, last = perBlock, perBlock
	}
	for threads = first; threads >= last; threads /= 2 {
		if room, err = k.gpu.resident(k.entry, threads); err != nil {
			return 0, 0, err
		}
		if blocks <= room {
			return threads, room, nil
		}
	}
	return 0, 0, fmt.Errorf("%v has room for %d blocks of %d threads at once, and the program has %d blocks there: %w", k.gpu, room, last, blocks, executor.ErrNoDevice)
}

// Launch runs the program once: it copies the buffers to the GPUs, outputs too,
// so that what is not written stays as it was, and back.
func (in *instance) Launch(ctx context.Context, l *executor.Launch) (executor.Stop, error) {
	switch {
	case in.broken != nil:
		return executor.Stop{}, in.broken
	case l.Trace != nil:
		return executor.Stop{}, fmt.Errorf("two-sided programs are traced on the CPU only: %w", executor.ErrNotSupported)
	case l.Watch != nil:
		return executor.Stop{}, errors.New("a GPU cannot be watched")
	case len(in.img.Blocks) == 0:
		return executor.Stop{}, nil
	}
	in.machine.busy.Lock()
	defer in.machine.busy.Unlock()
	if err := in.prepare(l); err != nil {
		return executor.Stop{}, err
	}
	if err := in.copy(l, put[byte]); err != nil {
		return executor.Stop{}, err
	}
	parts, err := in.parts(l)
	if err != nil {
		return executor.Stop{}, err
	}
	defer C.free(unsafe.Pointer(unsafe.SliceData(parts)))
	if err := in.run(ctx, parts); err != nil {
		in.broken = err
		return executor.Stop{}, err
	}
	in.messages += l.Messages
	stop := ended(parts)
	if stop.Status.Code != executor.StatusOK {
		var before [1]executor.State
		at := uint64(stop.Status.Block) * uint64(unsafe.Sizeof(before[0]))
		err := get(&in.part[int(in.img.Blocks[stop.Status.Block].Rank)%len(in.part)].states, at, before[:])
		stop.Before = before[0]
		if err := errors.Join(err, in.reset()); err != nil {
			return stop, err
		}
	}
	return stop, in.copy(l, get[byte])
}

// copy copies the buffers of all ranks.
func (in *instance) copy(l *executor.Launch, one func(*buffer, uint64, []byte) error) error {
	for i := range in.rank {
		m := &l.Memory[i]
		if err := errors.Join(one(&in.rank[i].input, 0, m.Input), one(&in.rank[i].output, 0, m.Output)); err != nil {
			return err
		}
	}
	return nil
}

// parts fills in what each GPU is to launch, in memory of C.
func (in *instance) parts(l *executor.Launch) ([]C.struct_gpu_part, error) {
	memory := (*C.struct_gpu_part)(C.calloc(C.size_t(len(in.part)), C.sizeof_struct_gpu_part))
	parts := unsafe.Slice(memory, len(in.part))
	used := 0
	for _, p := range in.part {
		if len(p.numbers) == 0 {
			continue
		}
		k, err := in.machine.kernel(p.gpu, executor.DType(l.Params.DType).String(), entries[l.Params.Proto])
		if err == nil {
			var threads int
			threads, _, err = k.fit(len(p.numbers), l.PerBlock)
			parts[used].threads = C.u32(threads)
		}
		if err != nil {
			C.free(unsafe.Pointer(memory))
			return nil, err
		}
		launch := l.Params
		launch.Steps, launch.Blocks, launch.Ranks = p.steps.address, p.blocks.address, p.ranks.address
		launch.States, launch.Conns, launch.StatusAt = p.states.address, p.conns.address, p.status.address
		c := &parts[used]
		c.card, c.function, c.numbers, c.blocks = p.gpu.c, k.entry, C.u64(p.list.address), C.u32(len(p.numbers))
		c.launch = *(*C.struct_abi_launch)(unsafe.Pointer(&launch))
		c.status.limit_ns = C.u64(l.Wait)
		used++
	}
	return parts[:used], nil
}

// run launches the parts and waits for their ends.
func (in *instance) run(ctx context.Context, parts []C.struct_gpu_part) error {
	cancel := (*uint32)(C.calloc(1, 4))
	defer C.free(unsafe.Pointer(cancel))
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		atomic.StoreUint32(cancel, 1)
		close(cancelled)
	})
	code := C.mscclc_gpu_launch(unsafe.SliceData(parts), C.u32(len(parts)), (*C.u32)(cancel))
	if !stop() {
		<-cancelled
	}
	return in.machine.driver.failed(code, "the launch on %v", in.gpus)
}

// ended says how the launch ended: as the part that failed by itself did, which
// made the others leave. It took as long as the slowest.
func ended(parts []C.struct_gpu_part) executor.Stop {
	var stop executor.Stop
	for i := range parts {
		status := *(*executor.Status)(unsafe.Pointer(&parts[i].status))
		if was := stop.Status.Code; was == executor.StatusOK || was == executor.StatusCancelled && status.Code != executor.StatusOK {
			stop.Status = status
		}
		stop.Kernel = max(stop.Kernel, time.Duration(float64(parts[i].ms)*float64(time.Millisecond)))
	}
	return stop
}

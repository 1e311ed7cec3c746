//go:build cgo

package cpu

// #include "calls.h"
import "C"

import (
	"runtime"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/abi"
)

// rowRoom makes the room that the threads of a launch with an epilogue have for rows.
func (in *oneInstance) rowRoom(l *executor.Launch, blocks int) error {
	if l.Rows == nil {
		return nil
	}
	threads := uint64(blocks) * uint64(max(l.PerBlock, 1))
	return in.rows.grow("rows", threads*uint64(C.mscclc_cpu_row_room(C.u32(l.Rows.Length))))
}

// runRows runs a launch of a program with an epilogue.
func (in *oneInstance) runRows(pin *runtime.Pinner, p *abi.OneParams, l *executor.Launch, blocks int) {
	launch := &abi.RowsLaunch{One: *p, Rows: *l.Rows}
	in.rowMemory = in.rowMemory[:0]
	for _, m := range l.RowMemory {
		in.rowMemory = append(in.rowMemory, abi.RowMemory{})
		to := &in.rowMemory[len(in.rowMemory)-1]
		for i, buf := range m.First {
			to.First[i] = address(pin, buf)
		}
		for i, buf := range m.Second {
			to.Second[i] = address(pin, buf)
		}
	}
	launch.Rows.Ranks = address(pin, in.rowMemory)
	at := (*C.struct_abi_rows_launch)(unsafe.Pointer(launch))
	if l.PerBlock > 0 {
		C.mscclc_cpu_threads_rows(at, C.u32(l.PerBlock), C.u64(in.rows.address))
	} else {
		C.mscclc_cpu_fibers_rows(at, C.u32(workers(l.Threads, blocks)), C.u64(in.stacks.address), C.u64(in.rows.address))
	}
}

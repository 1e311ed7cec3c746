//go:build cgo

package cpu

// #include "calls.h"
import "C"

import (
	"errors"
	"unsafe"

	"mscclc/executor/abi"
)

// A Runner runs launches whose tables and memory others have made, such as those of plans (package executor/host). It
// has the stacks of their blocks, and runs one launch at a time.
type Runner struct {
	threads int
	stacks  region
	rows    region // of launches with an epilogue
}

// help is h as the host takes it.
func help(h abi.Help) C.struct_host_help {
	return C.struct_host_help{call: C.u64(h.Call), with: C.u64(h.With)}
}

// NewRunner returns a runner of a number of OS threads. Where that is one, launches run on the caller's.
func NewRunner(threads int) (*Runner, error) { return &Runner{threads: threads}, nil }

// One runs a launch of a one-sided program, and returns at its end, which its status describes. Threads that wait help.
func (r *Runner) One(p *abi.OneParams, h abi.Help) error {
	blocks := int(p.BlockCount) * int(p.Replicas)
	if err := r.room(blocks); err != nil || blocks == 0 {
		return err
	}
	C.mscclc_cpu_fibers_onesided((*C.struct_abi_one_launch)(unsafe.Pointer(p)), C.u32(workers(r.threads, blocks)),
		C.u64(r.stacks.address), nil, help(h))
	return nil
}

// Rows is One of a program with an epilogue.
func (r *Runner) Rows(l *abi.RowsLaunch) error {
	blocks := int(l.One.BlockCount) * int(l.One.Replicas)
	err := r.rows.grow("rows", uint64(blocks)*uint64(C.mscclc_cpu_row_room(C.u32(l.Rows.Length))))
	if err = errors.Join(err, r.room(blocks)); err != nil || blocks == 0 {
		return err
	}
	C.mscclc_cpu_fibers_rows((*C.struct_abi_rows_launch)(unsafe.Pointer(l)), C.u32(workers(r.threads, blocks)),
		C.u64(r.stacks.address), C.u64(r.rows.address))
	return nil
}

// Two is One of a two-sided program; what it records, if anything, is trace's.
func (r *Runner) Two(p *abi.Params, trace *abi.TraceTables) error {
	blocks := int(p.BlockCount)
	if err := r.room(blocks); err != nil || blocks == 0 {
		return err
	}
	C.mscclc_cpu_fibers((*C.struct_abi_launch)(unsafe.Pointer(p)), (*C.struct_abi_trace)(unsafe.Pointer(trace)),
		C.u32(workers(r.threads, blocks)), C.u64(r.stacks.address), nil)
	return nil
}

func (r *Runner) room(blocks int) error {
	return r.stacks.grow("stacks", uint64(blocks)*C.MSCCLC_STACK)
}

// Close frees the stacks, and the room for rows.
func (r *Runner) Close() {
	r.stacks.free()
	r.rows.free()
}

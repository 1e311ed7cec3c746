//go:build cgo

package cpu

// #include "calls.h"
import "C"

import "unsafe"

// This file says how C lays out the tables of kernels/abi/rows.h, and where the
// kernel finds a chunk. Tests compare both with Go's, and cannot use cgo
// themselves.

// A layout is the size of a struct and the offsets of its fields, in order.
type layout struct {
	size    uintptr
	offsets []uintptr
}

func cLayouts() map[string]layout {
	var (
		step     C.struct_abi_step
		block    C.struct_abi_block
		rank     C.struct_abi_rank
		state    C.struct_abi_state
		counters C.struct_abi_counters
		conn     C.struct_abi_conn
		status   C.struct_abi_status
		action   C.struct_abi_action
		trace    C.struct_abi_trace
		launch   C.struct_abi_launch
	)
	return map[string]layout{
		"Step": {unsafe.Sizeof(step), []uintptr{unsafe.Offsetof(step.op), unsafe.Offsetof(step.src_buf),
			unsafe.Offsetof(step.dst_buf), unsafe.Offsetof(step.flags), unsafe.Offsetof(step.count), unsafe.Offsetof(step.src),
			unsafe.Offsetof(step.dst), unsafe.Offsetof(step.first_class), unsafe.Offsetof(step.dep_block),
			unsafe.Offsetof(step.dep_step), unsafe.Offsetof(step.chain)}},
		"Block": {unsafe.Sizeof(block), []uintptr{unsafe.Offsetof(block.rank), unsafe.Offsetof(block.first_block),
			unsafe.Offsetof(block.first_step), unsafe.Offsetof(block.steps), unsafe.Offsetof(block.send),
			unsafe.Offsetof(block.recv)}},
		"RankMemory": {unsafe.Sizeof(rank), []uintptr{unsafe.Offsetof(rank.input), unsafe.Offsetof(rank.output), unsafe.Offsetof(rank.scratch)}},
		"State": {unsafe.Sizeof(state), []uintptr{unsafe.Offsetof(state.flag), unsafe.Offsetof(state.tiles),
			unsafe.Offsetof(state.sent), unsafe.Offsetof(state.received), unsafe.Offsetof(state.pad)}},
		"Counters":   {unsafe.Sizeof(counters), []uintptr{unsafe.Offsetof(counters.head), unsafe.Offsetof(counters.pad0), unsafe.Offsetof(counters.tail), unsafe.Offsetof(counters.pad1)}},
		"ConnMemory": {unsafe.Sizeof(conn), []uintptr{unsafe.Offsetof(conn.slots), unsafe.Offsetof(conn.head), unsafe.Offsetof(conn.tail)}},
		"Status": {unsafe.Sizeof(status), []uintptr{unsafe.Offsetof(status.code), unsafe.Offsetof(status.block),
			unsafe.Offsetof(status.step), unsafe.Offsetof(status.what), unsafe.Offsetof(status.want),
			unsafe.Offsetof(status.have), unsafe.Offsetof(status.tile), unsafe.Offsetof(status.waited_ns),
			unsafe.Offsetof(status.limit_ns), unsafe.Offsetof(status.replica), unsafe.Offsetof(status.operand),
			unsafe.Offsetof(status.leave), unsafe.Offsetof(status.pad)}},
		"TraceTables": {unsafe.Sizeof(trace), []uintptr{unsafe.Offsetof(trace.rows), unsafe.Offsetof(trace.first)}},
		"Action": {unsafe.Sizeof(action), []uintptr{unsafe.Offsetof(action.step), unsafe.Offsetof(action.message),
			unsafe.Offsetof(action.tile), unsafe.Offsetof(action.pad), unsafe.Offsetof(action.begin),
			unsafe.Offsetof(action.end), unsafe.Offsetof(action.seen)}},
		"Params": {unsafe.Sizeof(launch), []uintptr{unsafe.Offsetof(launch.steps), unsafe.Offsetof(launch.blocks),
			unsafe.Offsetof(launch.ranks), unsafe.Offsetof(launch.states), unsafe.Offsetof(launch.conns),
			unsafe.Offsetof(launch.status), unsafe.Offsetof(launch.elems), unsafe.Offsetof(launch.chunk),
			unsafe.Offsetof(launch.tile), unsafe.Offsetof(launch.slot_bytes), unsafe.Offsetof(launch.slot_stride),
			unsafe.Offsetof(launch.chunks), unsafe.Offsetof(launch.slots), unsafe.Offsetof(launch.block_count),
			unsafe.Offsetof(launch.rank_count), unsafe.Offsetof(launch.proto), unsafe.Offsetof(launch.dtype),
			unsafe.Offsetof(launch.redop), unsafe.Offsetof(launch.elem_size), unsafe.Offsetof(launch.inverse)}},
	}
}

// cCell is where the kernel finds element at of a chunk of a rank.
func cCell(elems, chunk uint64, chunks, size uint32, input, output, scratch uint64, buf uint8, index uint32,
	at uint64) uint64 {
	a := C.struct_abi_launch{elems: C.u64(elems), chunk: C.u64(chunk), chunks: C.u32(chunks), elem_size: C.u32(size)}
	m := C.struct_abi_rank{input: C.u64(input), output: C.u64(output), scratch: C.u64(scratch)}
	return uint64(C.mscclc_cpu_cell(&a, &m, C.u32(buf), C.u32(index), C.u64(at)))
}

// stackUse returns how many bytes of any block's stack were ever written, of how
// many.
func stackUse(stacks *region) (used, of uint64) {
	for at := stacks.address; at < stacks.address+stacks.bytes; at += C.MSCCLC_STACK {
		used = max(used, uint64(C.mscclc_cpu_stack_use(C.u64(at))))
	}
	return used, C.MSCCLC_STACK
}

//go:build cgo

package cpu

// #include "../../kernels/abi/rows_few.h"
// #include "../../kernels/abi/rows_net.h"
// #include "../../kernels/rows/abi.h"
// static void poke(u64 address, u64 value) { *(u64 *)address = value; }
import "C"

import "unsafe"

// oneLayouts are cLayouts of kernels/abi/rows_onesided.h, rows_few.h and rows_net.h, and of
// kernels/rows/abi.h.
func oneLayouts() map[string]layout {
	var (
		step    C.struct_abi_one_step
		operand C.struct_abi_one_operand
		block   C.struct_abi_one_block
		memory  C.struct_abi_one_memory
		state   C.struct_abi_one_state
		record  C.struct_abi_one_record
		all     C.struct_abi_one_switch
		copies  C.struct_abi_port_copy
		lane    C.struct_abi_port_lane
		ends    C.struct_abi_port_ends
		launch  C.struct_abi_one_launch
		fewStep C.struct_abi_few_step
		few     C.struct_abi_few
		whole   C.struct_abi_few_launch
		netRow  C.struct_abi_net_row
		netLane C.struct_abi_net_lane
		net     C.struct_abi_net
		inbox   C.struct_abi_inbox
		stage   C.struct_abi_row_stage
		reads   C.struct_abi_row_memory
		rows    C.struct_abi_rows
		then    C.struct_abi_rows_launch
		short   C.struct_abi_few_rows_launch
	)
	return map[string]layout{
		"OneStep": {unsafe.Sizeof(step), []uintptr{unsafe.Offsetof(step.op), unsafe.Offsetof(step.flags),
			unsafe.Offsetof(step.srcs), unsafe.Offsetof(step.dsts), unsafe.Offsetof(step.group), unsafe.Offsetof(step.count),
			unsafe.Offsetof(step.first_class), unsafe.Offsetof(step.first)}},
		"OneOperand": {unsafe.Sizeof(operand), []uintptr{unsafe.Offsetof(operand.rank), unsafe.Offsetof(operand.buf),
			unsafe.Offsetof(operand.via), unsafe.Offsetof(operand.index), unsafe.Offsetof(operand.a),
			unsafe.Offsetof(operand.b)}},
		"OneBlock": {unsafe.Sizeof(block), []uintptr{unsafe.Offsetof(block.rank), unsafe.Offsetof(block.number),
			unsafe.Offsetof(block.first_step), unsafe.Offsetof(block.steps), unsafe.Offsetof(block.first_operand),
			unsafe.Offsetof(block.operands), unsafe.Offsetof(block.together), unsafe.Offsetof(block.pad)}},
		"OneMemory": {unsafe.Sizeof(memory), []uintptr{unsafe.Offsetof(memory.input), unsafe.Offsetof(memory.output),
			unsafe.Offsetof(memory.scratch), unsafe.Offsetof(memory.packets), unsafe.Offsetof(memory.flags)}},
		"OneState":  {unsafe.Sizeof(state), []uintptr{unsafe.Offsetof(state.iterations), unsafe.Offsetof(state.launches)}},
		"OneRecord": {unsafe.Sizeof(record), []uintptr{unsafe.Offsetof(record.begin), unsafe.Offsetof(record.end)}},
		"OneSwitch": {unsafe.Sizeof(all), []uintptr{unsafe.Offsetof(all.input), unsafe.Offsetof(all.output), unsafe.Offsetof(all.scratch)}},
		"PortCopy":  {unsafe.Sizeof(copies), []uintptr{unsafe.Offsetof(copies.src), unsafe.Offsetof(copies.dst), unsafe.Offsetof(copies.bytes), unsafe.Offsetof(copies.peer)}},
		"PortLane":  {unsafe.Sizeof(lane), []uintptr{unsafe.Offsetof(lane.pushed), unsafe.Offsetof(lane.pad), unsafe.Offsetof(lane.copy)}},
		"PortEnds":  {unsafe.Sizeof(ends), []uintptr{unsafe.Offsetof(ends.sent), unsafe.Offsetof(ends.pad), unsafe.Offsetof(ends.done), unsafe.Offsetof(ends.pushed_by)}},
		"OneParams": {unsafe.Sizeof(launch), []uintptr{unsafe.Offsetof(launch.blocks), unsafe.Offsetof(launch.steps),
			unsafe.Offsetof(launch.operands), unsafe.Offsetof(launch.ranks), unsafe.Offsetof(launch.states),
			unsafe.Offsetof(launch.status), unsafe.Offsetof(launch.elems), unsafe.Offsetof(launch.chunk),
			unsafe.Offsetof(launch.share), unsafe.Offsetof(launch.tile), unsafe.Offsetof(launch.iterations),
			unsafe.Offsetof(launch.scratch_stride), unsafe.Offsetof(launch.scratch_copy), unsafe.Offsetof(launch.packet_stride),
			unsafe.Offsetof(launch.packet_copy), unsafe.Offsetof(launch.trace), unsafe.Offsetof(launch.trace_iterations),
			unsafe.Offsetof(launch.chunks), unsafe.Offsetof(launch.replicas), unsafe.Offsetof(launch.max_replicas),
			unsafe.Offsetof(launch.depth), unsafe.Offsetof(launch.flags), unsafe.Offsetof(launch.all_blocks),
			unsafe.Offsetof(launch.block_count), unsafe.Offsetof(launch.step_count), unsafe.Offsetof(launch.operand_count),
			unsafe.Offsetof(launch.inlined), unsafe.Offsetof(launch.rank_count), unsafe.Offsetof(launch.dtype),
			unsafe.Offsetof(launch.redop), unsafe.Offsetof(launch.elem_size), unsafe.Offsetof(launch.inverse),
			unsafe.Offsetof(launch.all), unsafe.Offsetof(launch.port), unsafe.Offsetof(launch.port_ends),
			unsafe.Offsetof(launch.rank), unsafe.Offsetof(launch.code)}},
		"FewStep": {unsafe.Sizeof(fewStep), []uintptr{unsafe.Offsetof(fewStep.flags), unsafe.Offsetof(fewStep.srcs),
			unsafe.Offsetof(fewStep.dsts), unsafe.Offsetof(fewStep.group), unsafe.Offsetof(fewStep.count),
			unsafe.Offsetof(fewStep.first)}},
		"FewParams": {unsafe.Sizeof(few), []uintptr{unsafe.Offsetof(few.state), unsafe.Offsetof(few.status),
			unsafe.Offsetof(few.stride), unsafe.Offsetof(few.packet_copy), unsafe.Offsetof(few.depth),
			unsafe.Offsetof(few.share), unsafe.Offsetof(few.units), unsafe.Offsetof(few.inverse), unsafe.Offsetof(few.number),
			unsafe.Offsetof(few.steps), unsafe.Offsetof(few.lines), unsafe.Offsetof(few.step), unsafe.Offsetof(few.where)}},
		"NetRow": {unsafe.Sizeof(netRow), []uintptr{unsafe.Offsetof(netRow.seq), unsafe.Offsetof(netRow.count),
			unsafe.Offsetof(netRow.first), unsafe.Offsetof(netRow.end), unsafe.Offsetof(netRow.elems),
			unsafe.Offsetof(netRow.chunk), unsafe.Offsetof(netRow.operand), unsafe.Offsetof(netRow.copy),
			unsafe.Offsetof(netRow.replicas), unsafe.Offsetof(netRow.rank), unsafe.Offsetof(netRow.flag)}},
		"NetLane": {unsafe.Sizeof(netLane), []uintptr{unsafe.Offsetof(netLane.taken), unsafe.Offsetof(netLane.pad),
			unsafe.Offsetof(netLane.row)}},
		"Net": {unsafe.Sizeof(net), []uintptr{unsafe.Offsetof(net.lanes), unsafe.Offsetof(net.sent),
			unsafe.Offsetof(net.inboxes), unsafe.Offsetof(net.inbox_copy), unsafe.Offsetof(net.together),
			unsafe.Offsetof(net.pad), unsafe.Offsetof(net.narrow)}},
		"Inbox": {unsafe.Sizeof(inbox), []uintptr{unsafe.Offsetof(inbox.scratch), unsafe.Offsetof(inbox.flags)}},
		"RowStage": {unsafe.Sizeof(stage), []uintptr{unsafe.Offsetof(stage.kind), unsafe.Offsetof(stage.function),
			unsafe.Offsetof(stage._type), unsafe.Offsetof(stage.pad), unsafe.Offsetof(stage.block),
			unsafe.Offsetof(stage.value)}},
		"RowMemory": {unsafe.Sizeof(reads), []uintptr{unsafe.Offsetof(reads.first), unsafe.Offsetof(reads.second)}},
		"Rows": {unsafe.Sizeof(rows), []uintptr{unsafe.Offsetof(rows.length), unsafe.Offsetof(rows.stages),
			unsafe.Offsetof(rows.output_type), unsafe.Offsetof(rows.output_size), unsafe.Offsetof(rows.scales_of_row),
			unsafe.Offsetof(rows.first_rank), unsafe.Offsetof(rows.ranks), unsafe.Offsetof(rows.stage),
			unsafe.Offsetof(rows.rank)}},
		"RowsLaunch": {unsafe.Sizeof(then), []uintptr{unsafe.Offsetof(then.one), unsafe.Offsetof(then.rows)}},
		"FewRowsLaunch": {unsafe.Sizeof(short), []uintptr{unsafe.Offsetof(short.few), unsafe.Offsetof(short.one),
			unsafe.Offsetof(short.rows)}},
		"FewLaunch": {unsafe.Sizeof(whole), []uintptr{unsafe.Offsetof(whole.few), unsafe.Offsetof(whole.one)}},
	}
}

// setFlag makes a flag of a rank in a replica as if it had been signalled so often.
func (in *oneInstance) setFlag(rank int, replica, index, count uint64) {
	C.poke(C.u64(in.flags.address+uint64(rank)*in.layout.FlagMem+(replica*in.layout.Flags+index)*8), C.u64(count))
}

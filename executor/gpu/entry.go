package gpu

import (
	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
)

// rowUnits is how many units of a row a thread holds (RowLanes::MOST in kernels/rows/lanes.h), of 16 bytes at most.
const rowUnits = 8

// rowThreads returns how many threads a block needs at least for its rows: a power of two, or 0 where it has none. A
// row may begin and end within units, of which eight make a line of 120 bytes.
func rowThreads(r *executor.Ready) (threads int) {
	if r.Rows == nil {
		return 0
	}
	units := int(r.One.ElemSize)/16 + 2
	if r.Lines {
		units = int(r.One.ElemSize) / 8 // a block has room for half as much of a row (kernels/rows/room.h)
	}
	held := rowUnits
	if r.Few != nil {
		units, held = int(r.One.ElemSize)/16, abi.FewRowUnits
	}
	for threads = leastThreads; threads*held < units; threads *= 2 {
	}
	return threads
}

// mostThreads is what the kernel is built for, and what a block has where all of a
// GPU's blocks have room; leastThreads is what it has at least.
const mostThreads, leastThreads = 512, 64

// OneEntry returns the entry of the kernel for a launch of a one-sided program. Images with a port or for several
// nodes, and lines, have one for all reductions. copies asks for an entry that only copies.
func OneEntry(r *executor.Ready, copies, port bool) string {
	lines := ""
	if r.Lines {
		lines = "_lines"
	}
	switch {
	case r.Rows != nil && r.Few != nil:
		return "mscclc_few" + lines + "_rows"
	case r.Rows != nil && r.Lines:
		return "mscclc_rows_lines"
	case r.Rows != nil:
		return "mscclc_rows_sum"
	case r.Few != nil && copies:
		return "mscclc_few" + lines + "_copy"
	case r.Few != nil:
		return "mscclc_few" + lines + "_sum"
	case r.Net && r.One.Trace == 0:
		return "mscclc_net" + lines
	case port || r.Net || r.Lines:
		return "mscclc_onesided" + lines
	case copies:
		return "mscclc_onesided_copy"
	}
	switch t, op := data.DType(r.One.DType), data.RedOp(r.One.RedOp); {
	case op == data.Sum, op == data.Avg && !t.Info().Float: // a sum, divided at its end
		return "mscclc_onesided_sum"
	case op == data.Avg && (t == data.F16 || t == data.BF16 || t == data.F32): // others go by the entry for all
		return "mscclc_onesided_avg"
	}
	return "mscclc_onesided"
}

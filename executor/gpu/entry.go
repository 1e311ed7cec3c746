package gpu

import (
	"mscclc/executor"
	"mscclc/executor/data"
)

// OneEntry returns the entry of the kernel for a launch of a one-sided program. Images with a port or for several
// nodes, and lines, have one for all reductions. copies asks for an entry that only copies.
func OneEntry(r *executor.Ready, copies, port bool) string {
	lines := ""
	if r.Lines {
		lines = "_lines"
	}
	switch {
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

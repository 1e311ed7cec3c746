package choosing

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/ir/diag"
	"mscclc/synthesis/certificate"
)

// Large calls may be faster by a program of trees where what the catalog has reaches less than Enough of the bound.
const (
	Enough     = 0.9
	leastTrees = 1 << 20 // bytes of a call for each rank: latency limits smaller ones
)

// WantsTrees reports whether a call of a given number of bytes, which reaches a share of the bound, may be faster by a
// program of trees. Where there is no bound, share is 0.
func WantsTrees(call choose.Call, bytes int64, share float64) bool {
	return HasTrees(call) && share > 0 && share < Enough && bytes >= leastTrees*int64(call.Ranks)
}

// HasTrees reports whether there are programs of trees for a call.
func HasTrees(call choose.Call) bool {
	return !call.Inplace && slices.Contains(certificate.Kinds, call.Kind)
}

// TreesCommand returns the command that makes a program of trees for a call on a topology that the user calls spec.
func TreesCommand(call choose.Call, spec string) string {
	text := fmt.Sprintf("mscclc synthesize %s -t %s", strings.ToLower(call.Kind.String()), diag.Printable(spec))
	if call.Kind.Rooted() && call.Root > 0 {
		text += fmt.Sprintf(" --root %d", call.Root)
	}
	return text + " -o FILE.mscl"
}

package devices

import (
	"mscclc/executor/shared"
	"mscclc/ir/diag"
)

// RefuseMemory refuses a run that needs a given number of bytes, if this machine has less left, or this process may
// have less. Where the machine does not say how much it has, nothing is refused. The hint says what takes less.
func RefuseMemory(need float64, hint string) error {
	if available, known := shared.Available(); known && need > float64(available) {
		return diag.List{diag.New(diag.Unavailable, diag.Span{},
			"the run needs %.1f GiB of memory, and this machine has %.1f GiB left", need/(1<<30), float64(available)/(1<<30)).
			WithHint("%s", hint)}
	}
	return nil
}

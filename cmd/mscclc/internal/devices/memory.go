package devices

import (
	"bytes"
	"fmt"
	"os"

	"mscclc/ir/diag"
)

// RefuseMemory refuses a run that needs so many bytes, if this machine has less left. Where the machine does not say
// how much it has, nothing is refused. The hint says what takes less.
func RefuseMemory(need float64, hint string) error {
	if available := availableMemory(); available > 0 && need > available {
		return diag.List{diag.New(diag.Unavailable, diag.Span{},
			"the run needs %.1f GiB of memory, and this machine has %.1f GiB left", need/(1<<30), available/(1<<30)).
			WithHint("%s", hint)}
	}
	return nil
}

// availableMemory is what the system can hand out, or 0 where it does not say.
func availableMemory() float64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(text, []byte("MemAvailable:"))
	var kib float64
	if _, err := fmt.Sscan(string(rest[:min(len(rest), 64)]), &kib); !ok || err != nil {
		return 0
	}
	return kib * 1024
}

// Package scarce makes mscclc end with a clear message when it gets no more memory.
//
// By itself, Go's runtime would print its state and exit with 2, which is mscclc's code for a wrong command line.
// Nothing within the process can change that. So if the system limits the memory of a process, the package uses two
// processes: one does the work, and a small one waits for it and reports how it ended.
package scarce

import (
	"os"
	"strings"

	"mscclc/ir/diag"
)

// variable is set for the process that does the work.
const variable = "MSCCLC_WATCHED"

// Watch does the work in a process of its own where memory is bounded, and returns how that has ended: its exit code,
// or an error in its place. Elsewhere, and in that process itself, it returns at once, with alone.
func Watch() (code int, alone bool, err error) {
	if os.Getenv(variable) != "" {
		os.Unsetenv(variable) // other processes that this one starts are no workers of this watcher
		return 0, true, nil
	}
	bound := bounded()
	if bound == "" {
		return 0, true, nil
	}
	talk := &talk{to: os.Stderr}
	if code, err = watch(talk); err != nil {
		return 0, true, nil // no room for another process: this one tries alone
	}
	if err := failure(talk.died.String(), bound); err != nil {
		return 0, false, err
	}
	os.Stderr.WriteString(talk.died.String())
	return code, false, nil
}

// crashed stands before the signal of a worker that died of a fault.
const crashed = "mscclc ended by the signal: "

// failure says what a process has died of by what Go's runtime wrote, if that is for want of something.
func failure(died, bound string) error {
	what := ""
	_, signal, faulted := strings.Cut(died, crashed)
	switch {
	case strings.Contains(died, "out of memory"), strings.Contains(died, "cannot allocate memory"),
		strings.Contains(died, "failed to reserve page summary memory"):
		what = "mscclc got no more memory"
	case strings.Contains(died, "newosproc"), strings.Contains(died, "pthread_create failed"):
		what = "mscclc got no more room for a thread"
	case faulted:
		what = "mscclc ended by a " + strings.TrimSpace(signal) + ", perhaps since it got no more memory"
	default:
		return nil
	}
	return diag.List{diag.New(diag.Limit, diag.Span{}, "%s (%s)", what, bound).
		WithHint("give less data, fewer ranks or fewer chunks, or raise the bound")}
}

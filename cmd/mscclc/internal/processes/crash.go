package processes

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// This file reports processes that died of a fault in a library. Go's runtime then prints the stacks of all
// goroutines, which says nothing to users.

// faults are the beginnings of lines with which Go's runtime begins to die.
var faults = []string{"SIGSEGV: ", "SIGABRT: ", "SIGBUS: ", "SIGFPE: ", "SIGILL: ", "SIGTRAP: ", "fatal error: ", "panic: ",
	"unexpected fault address ", "runtime: ", "runtime/cgo: "}

// mostStack bounds what is kept of a crash, in bytes.
const mostStack = 1 << 20

// A Crash is the error of a team of which a process died of a fault.
type Crash struct {
	Process int
	Text    string // which process, in which library, at what, by which signal
}

// Error returns the text.
func (c *Crash) Error() string { return c.Text }

// Unwrap returns the error for the user.
func (c *Crash) Unwrap() error { return cli.Unavailable("%s", c.Text) }

// fault returns the signal of a fault that ended a process. Go hands on the signals of threads that are not its own.
func (e *end) fault() (syscall.Signal, bool) {
	status, ok := e.Sys().(syscall.WaitStatus)
	return status.Signal(), ok && status.Signaled() && isFault(status.Signal())
}

// crashed reports whether a process that ended badly died of a fault.
func (e *end) crashed() bool {
	_, fault := e.fault()
	return fault || e.says.died.Len() > 0
}

// crash returns the first crash of ends, or nil.
func (t *Team) crash(ends []end) *Crash {
	for i := range ends {
		e := &ends[i]
		if e.ProcessState == nil || e.Success() || !e.crashed() {
			continue
		}
		fault, stack := e.says.died.String(), ""
		where := culprit(fault)
		if signal, ok := e.fault(); ok {
			fault, where = signal.String(), "a thread of NCCL or of the driver"
		} else if file, err := keepStack(fault); err == nil {
			stack = "; the stack is in " + file
		}
		line, _, _ := strings.Cut(fault, "\n")
		at := ""
		if t.last[i].At != "" {
			at = " at " + t.last[i].At
		}
		return &Crash{i, fmt.Sprintf("process %d of %d crashed in %s%s: %s%s", i, t.Count, where, at, diag.Printable(line),
			stack)}
	}
	return nil
}

// isFault reports whether a signal is that of a fault.
func isFault(s syscall.Signal) bool {
	switch s {
	case syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP:
		return true
	}
	return false
}

// culprit says in which library a process died, by what Go's runtime wrote of the thread that did.
func culprit(died string) string {
	_, stack, _ := strings.Cut(died, "\n\ngoroutine ")
	stack, _, _ = strings.Cut(stack, "\n\n")
	switch {
	case strings.Contains(stack, "mscclc/executor/nccl._Cfunc_"):
		return "NCCL"
	case strings.Contains(stack, "mscclc/executor/gpu._Cfunc_"):
		return "the driver of the GPUs"
	}
	return "mscclc"
}

// keepStack writes what Go's runtime wrote to a file.
func keepStack(text string) (string, error) {
	file, err := os.CreateTemp("", "mscclc-crash-*.txt")
	if err != nil {
		return "", err
	}
	defer file.Close()
	if _, err := fmt.Fprint(file, text); err != nil {
		return "", err
	}
	return file.Name(), nil
}

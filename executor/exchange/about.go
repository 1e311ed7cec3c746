package exchange

import (
	"fmt"
	"sync/atomic"
)

// This file is what errors say of a process that is lost: who it is, and what the job did last.

// An about holds what error messages say about processes and calls.
type about struct {
	is   atomic.Pointer[func(process int) string]
	last atomic.Pointer[string]
}

// Describe has errors say of a process what is returns, such as its ranks in brackets. is is called from any goroutine.
func (x *Member) Describe(is func(process int) string) { x.about.is.Store(&is) }

// Calls notes the call that this process launches: errors say which one was the last when a process was lost. It costs
// one store. A nil x notes nothing.
func (x *Member) Calls(call *string) {
	if x != nil {
		x.about.last.Store(call)
	}
}

// LastCall names the last call that Calls has noted, as the end of a sentence, or is empty.
func (x *Member) LastCall() string { return x.about.after() }

// process names a process.
func (a *about) process(number int) string {
	name := fmt.Sprintf("process %d", number)
	if is := a.is.Load(); is != nil {
		name += (*is)(number)
	}
	return name
}

// after names the last call, if there was one.
func (a *about) after() string {
	if last := a.last.Load(); last != nil {
		return "; the last call was " + *last
	}
	return ""
}

// A lossError says which process was lost and why, and the last call before that.
type lossError struct {
	process     int
	what, after string
}

// teller is the first process that is left.
func (e *lossError) teller() int {
	if e.process == 0 {
		return 1
	}
	return 0
}

// Error implements error.
func (e *lossError) Error() string { return e.what + e.after }

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

// Describe has errors say of a process what is returns, such as its ranks in brackets, where a view has no words of its
// own. is is called from any goroutine.
func (x *Member) Describe(is func(process int) string) { x.about.is.Store(&is) }

// Described returns a view of x whose errors say of a process what is returns, such as the ranks that it has of a
// program. is is called from any goroutine. The views of a member are one end of the exchange.
func (x *Member) Described(is func(process int) string) *Member {
	return &Member{exchange: x.exchange, is: is}
}

// Calls notes the call that this process launches: errors say which one was the last when a process was lost. It costs
// one store. A nil x notes nothing.
func (x *Member) Calls(call *string) {
	if x != nil {
		x.about.last.Store(call)
	}
}

// LastCall names the last call that Calls has noted, as the end of a sentence, or is empty.
func (x *Member) LastCall() string { return x.about.after() }

// after names the last call, if there was one.
func (a *about) after() string {
	if last := a.last.Load(); last != nil {
		return "; the last call was " + *last
	}
	return ""
}

// A lossError says which process was lost and why, and the last call before that.
type lossError struct {
	process    int
	why, after string
	is         func(process int) string // or nil
}

// Error implements error.
func (e *lossError) Error() string { return e.what() + e.after }

// what says which process was lost and why.
func (e *lossError) what() string {
	name := fmt.Sprintf("process %d", e.process)
	if e.is != nil {
		name += e.is(e.process)
	}
	return name + " " + e.why
}

// said is err in the words of this view.
func (x *Member) said(err error) error {
	loss, ok := err.(*lossError) // which nothing wraps here
	if !ok {
		return err
	}
	own := *loss
	if own.is = x.is; own.is == nil {
		if is := x.about.is.Load(); is != nil {
			own.is = *is
		}
	}
	return &own
}

// reporter returns the first process that is left.
func (e *lossError) reporter() int {
	if e.process == 0 {
		return 1
	}
	return 0
}

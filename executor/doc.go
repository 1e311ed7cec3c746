// Package executor runs programs on a device.
//
// What goes in is a Program that ir/verify accepts. Load makes an Image of it,
// the flat tables that the interpreter kernel reads (package kernels), and hands
// it to a Device; Run fills in one call's sizes, types and buffers, launches,
// and waits. A run ends with the collective done, or with an error that says
// which step of which rank waited for what, and leaves the Loaded usable.
//
// Prepare makes a Plan instead, whose launches a caller puts onto streams of GPUs, or into
// graphs, with buffers of its own; an Exchange ties the processes that share it
// (PLANS.md).
//
// A Watch in a call's Args records what each block did when, and holds blocks
// back. Replay uses it to show, in runs, what verify has rejected a program for.
//
// The devices are packages of their own, which this one does not know:
// executor/cpu is the first. The rest of this package is what a caller needs to
// judge a run: element types, the layout of buffers (Geometry), data to run on,
// and the collective computed directly (Data).
package executor

// Package cpu is the CPU device, which every machine has: cgo compiles the interpreter kernel for the host. The thread
// blocks of all ranks are fibers of a few OS threads. A block that waits yields to the next one. In builds for the
// thread sanitizer, each block has several OS threads of its own in place of a fiber. Without cgo the package compiles,
// and the device returns an error.
package cpu

// Package cpu is the device that every machine has: the interpreter kernel
// compiled for the host by cgo. The thread blocks of all ranks share a few OS
// threads as fibers, and a wait lets the next block run; or each block has
// several threads of its own, for the thread sanitizer. Without cgo the package
// compiles, and the device says that it cannot run.
package cpu

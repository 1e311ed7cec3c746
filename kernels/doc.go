// Package kernels holds the interpreter kernel: one source, in C++17 without
// any header, for every device.
//
// Each thread block of a program runs interpret (interp.h): for every tile of
// the chunks, all steps of the block in order. The layers, from the top:
//
//	interp.h     the loop: steps, tiles, messages and barriers; wait.h its waits
//	strips.h     moves and folds data on a host, strips of memory at a time
//	lanes.h      the same on a GPU, units of 16 bytes in registers at a time
//	onesided.h   the loop of one-sided programs, and their signals and waits;
//	             onesided_moves_host.h and onesided_moves_lanes.h move their data,
//	             on GPUs mostly by onesided_quick.h; lines.h is how packets lie there,
//	             few.h and few_lines.h do launches of few; port.h has a port make copies
//	ops.h        the reductions, of two accumulators
//	proto_*.h    how a message's bytes lie on the wire, one file a protocol
//	types.h      element types, their conversions and rounding
//	trace_two.h  when messages and steps began and ended, in images that trace;
//	             trace.h is for one-sided programs
//	abi.h        the tables that the host fills and the kernel reads, and
//	             abi_onesided.h those of one-sided programs
//	ops_gen.h    the operations, generated from ir.Ops
//	platform_*.h everything that a device does in its own way; platform_lanes.h is a
//	             host's that runs what GPUs run, for tests
//
// A target is a file that includes one platform, then interp.h or onesided.h, and
// adds entry points: executor/cpu/host.cc, and gpu/kernel.cc and kernel_onesided.cc for
// all GPUs, which build.sh turns into the images that Image gives. The sources are embedded so that a change
// to a header rebuilds the packages that include it: cgo does not look at
// headers outside its own package.
package kernels

import "embed"

// Sources are the kernel's files.
//
//go:embed *.h
var Sources embed.FS

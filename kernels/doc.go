// Package kernels holds the interpreter kernel: one source, in C++17 without
// any header, for every device.
//
// Each thread block of a program runs interpret (loop/interp.h): for every tile of
// the chunks, all steps of the block in order. Each folder of headers is a layer, which includes only itself and the
// layers above it in this list:
//
//	abi       the tables that the host fills and the kernel reads, and where chunks lie. The files rows*.h have the
//	          layout of executor/abi/rows*.go; ops_gen.h holds the operations, generated from ir.Ops
//	platform  everything that a device does in its own way: cpu.h, nv.h, amd.h. gpu.h is what nv.h and amd.h share;
//	          lanes.h is a host's that runs what GPUs run, for tests
//	values    element types, their conversions and rounding; reductions; units of 16 bytes in registers
//	protocol  how a message's bytes lie on the wire, one file a protocol, and how a thread waits for them. lanes.h and
//	          lines.h are how the lanes of a GPU take and put them. inbox.h is where what other nodes write lies
//	moves     one step's data: strips*.h move and fold it on a host, strips of memory at a time; lanes*.h on a GPU,
//	          units in registers. quick.h is the usual way of one-sided programs on GPUs, port.h has a port make
//	          copies, and switch_nv.h has NVLink's switch add
//	loop      the interpreters, which run the steps: tiles, messages, signals and barriers; the traces, which record
//	          when steps began and ended; and net.h, by which signals reach other nodes
//	few       launches of few packets, which skip the loop: pairs.h, and lines.h for LL128
//
// A file NAME_onesided.h is for one-sided programs what NAME.h is for two-sided ones.
//
// A target is a file that includes one platform, then what it runs of loop and few, and adds entry points:
// executor/cpu/host.cc, and those in gpu for all GPUs, which build.sh turns into the images that Image gives. bench
// times kernels written by hand beside these. The sources are embedded so that a change to a header rebuilds the
// packages that include it: cgo does not look at headers outside its own package.
package kernels

import "embed"

// Sources are the kernel's headers, each in the folder of its layer.
//
//go:embed abi/*.h platform/*.h values/*.h protocol/*.h moves/*.h loop/*.h few/*.h
var Sources embed.FS

// Package kernels holds the interpreter kernel: one source for every device, in C++17 without library headers.
//
// Each thread block of a program runs interpret (loop/interp.h): for every tile of the chunks, it runs all steps of the
// block in order. Each folder of headers is a layer. It includes only itself and the layers above it in this list:
//
//	abi       the tables that the host fills and the kernel reads, and where chunks lie. The files rows*.h (of tables)
//	          have the layout of executor/abi/rows*.go; ops_gen.h holds the operations, generated from ir.Ops
//	platform  the code for one kind of device: cpu.h, nv.h, amd.h. gpu.h is what nv.h and amd.h share;
//	          lanes.h runs the code of GPUs on a host, for tests
//	values    element types, their conversions and rounding; reductions; units of 16 bytes in registers
//	protocol  the layout of a message, one file for each protocol, and how a thread waits for its bytes. lanes.h loads
//	          and stores messages with the warp lanes of a GPU, and lines.h the packets of one-sided programs: pairs
//	          (LL: 4 bytes of data with 4 of flag; LL16: two pairs) and lines (LL128: 120 bytes with 8 of flag).
//	          inbox.h has the addresses of the memory that other nodes write
//	moves     the data of one step: strips*.h copy and reduce on a host, a strip of memory at a time; lanes*.h on a GPU,
//	          in units that registers hold. quick.h is the fast path of one-sided programs on GPUs. port.h hands copies
//	          to a port, whose host thread starts a copy engine. switch_nv.h lets NVLink's switch do the addition; this
//	          code was never run
//	rows      epilogues (ir/epilogue), which finish rows of the output matrix. abi.h has the layout of
//	          executor/abi/finish.go. stages.h has the arithmetic, for all devices. strips_rows.h runs a step on a
//	          host, and lanes.h on a GPU. There, fold.h sums the sources of a row, the threads hold the row in
//	          registers (hold.h), and reduce.h computes a sum or a maximum over all threads. outputs.h copies finished
//	          rows from output to output, and room.h takes rows from lines of LL128
//	loop      the interpreters, which run the steps: tiles, messages, signals and barriers; the traces, which record
//	          when steps began and ended; and net.h, which sends signals to other nodes
//	few       short launches, which do not use loop. Their data travels as packets, which are data with a flag:
//	          pairs.h, lines.h, and rows.h for programs with an epilogue, with their stages (lists.h) and packets
//	          (wires.h)
//
// NAME_onesided.h does for one-sided programs what NAME.h does for two-sided ones.
//
// The headers are compiled in a few source files, each with one platform, the parts of loop and few that it runs, and
// entry points. These are executor/fibers/host.cc, which cgo compiles, and the files in gpu. build.sh compiles the
// files in gpu into the images that the function Image returns. The folder kernels/bench compares kernels written by
// hand with the interpreter. The sources are embedded so that a change to a header rebuilds the packages that include
// it: cgo does not look at headers outside its own package.
package kernels

import "embed"

// Sources are the kernel's headers, each in the folder of its layer.
//
//go:embed abi/*.h rows/*.h platform/*.h values/*.h protocol/*.h moves/*.h loop/*.h few/*.h
var Sources embed.FS

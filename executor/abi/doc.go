// Package abi holds what the host and the interpreter kernel (package kernels) agree on.
//
// An [Image] is a program as flat tables of rows: [Step], [Block] and [Conn] for a two-sided program; [OneStep],
// [OneOperand] and [OneBlock], in a [OneImage], for a one-sided one. [NewImage] makes it. ir/form checks every number
// that leads to memory, so that a kernel that reads the tables touches no memory but the program's, whoever made the
// program.
//
// [Params] and [OneParams] are the numbers of one launch. [OneImage.Reserve] says how much memory launches may use, and
// [OneImage.Layout] where it lies. An [OnePart] holds the tables that one device needs, and [OnePart.Few] a shorter
// form of a small launch. [Image.Actions] and [OneImage.Actions] list what the blocks of a launch do, for traces and
// replays.
//
// The structs in the files rows*.go have the layout of kernels/abi/rows*.h, field by field: addresses are 64-bit
// numbers of the device, and a test of executor/cpu compares sizes and offsets. Package executor fills these tables
// and devices hand them to the kernel; nobody else needs them.
package abi

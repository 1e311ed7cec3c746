// Package abi holds what the host and the interpreter kernel (package kernels) agree on.
//
// An [Image] is a program as flat tables of rows. [NewImage] makes it. The rows of a two-sided program are [Step],
// [Block] and [Conn]. A one-sided program has a [OneImage], whose rows are [OneStep], [OneOperand] and [OneBlock].
// ir/form checks every number from which an address is computed. So a kernel that reads the tables accesses only the
// memory of its program, for any program.
//
// [Params] and [OneParams] are the parameters of one launch. [OneImage.Reserve] sets the most replicas and the largest
// tile of launches. [OneImage.Layout] returns the sizes and strides of the memory for these. A [OnePart] holds the
// tables that one device needs. [OnePart.Few] returns the parameters of a launch by kernels/few: a short path for small
// calls, whose data travels as packets, which are data with a flag. [Image.Actions] and [OneImage.Actions] list what
// the blocks of a launch do, for traces and replays.
//
// The structs in the files rows*.go have the layout of kernels/abi/rows*.h, field by field. A test of executor/cpu
// compares sizes and offsets. Addresses in these structs are 64-bit numbers, which are valid on the device. Packages
// executor, executor/plan and bundle make the tables. Devices pass them to the kernel, and bundles hold them.
package abi

// Package executor runs programs on a device.
//
// # Where to begin
//
//   - [Load] takes a program that ir/verify proves, and returns a [Loaded] on a [Device]: cpu.Device of executor/cpu,
//     or a GPU of executor/cuda or executor/hip. [Options] names the device.
//   - [Loaded.Run] does one call, given its [Args], and waits for its end. [ArgsOf] makes the Args of slices of Go
//     numbers. A run ends with the collective done, or with an error that names the step that waited; the Loaded stays
//     usable.
//   - [DataArgs] makes the Args of random buffers, which [data.New] fills and [data.Buffers.Check] compares with the
//     collective computed directly.
//   - plan.Prepare of the package below makes a plan for GPUs instead. The caller binds buffers of its own and puts the
//     launches onto streams or into graphs (PLANS.md).
//
// # Less often
//
// A [Trace] in Args records when steps began and ended. A [Watch] records what each block did when, and holds blocks
// back; package replay uses it to show, in runs, why verify rejects a program.
//
// # For devices
//
// Load makes an [abi.Image] of a program: the flat tables that the interpreter kernel reads (package abi). All other
// types are launches and what a device implements. Packages of devices use them, and nobody else.
package executor

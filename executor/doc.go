// Package executor runs programs on a device.
//
// # Where to begin
//
//   - [Load] proves a program with ir/verify, and returns a [Loaded] on a [Device]: cpu.Device of executor/cpu, or a
//     GPU of executor/cuda or executor/hip. [Options] names the device.
//   - [Loaded.Run] runs one call with its [Args], and waits for its end. [ArgsOf] makes the Args from slices of Go
//     numbers. Run returns a [Result], or an error. If a wait times out, the error names the step that waited. The
//     Loaded stays usable.
//   - [DataArgs] makes the Args from random buffers. [data.New] fills the buffers, and [data.Buffers.Check] compares
//     them with the expected result.
//   - For GPUs there is also plan.Prepare, in package executor/plan. The caller binds its own buffers to the plan, and
//     puts the launches onto streams or into graphs (PLANS.md).
//
// # Rarely needed
//
// A [Trace] in Args records when steps began and ended. A [Watch] records the actions of each block, and can hold
// blocks back. Package replay uses a Watch to show, in a run, why verify rejects a program.
//
// # For devices
//
// Load makes an [abi.Image] of a program: the flat tables that the interpreter kernel reads (package abi). Types that
// are not named above are for launches, and for the interface that a device implements. Only packages of devices use
// them.
package executor

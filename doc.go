// Package mscclc compiles algorithms for collective communication, such as AllReduce. The text of a .mscl file becomes
// a program for the thread blocks of all ranks, and a proof shows that the program is right.
//
// # Where to begin
//
// There are five common tasks. Each has an example of at most 15 lines, in the package that the task names:
//
//   - Compile an algorithm and prove it: [Compile], in this package. [Options] has the algorithm's parameters
//     ([lang.Params] takes Go integers and bools), the target and the passes.
//   - Write XML for msccl or RCCL: [msccl.Write]. [codegen.TargetByName] finds the target.
//   - Load an XML file at run time and run it: [ReadFile], then executor.Load and its Run, with executor.ArgsOf for
//     slices of Go numbers. executor/cpu has the CPU device; executor/cuda and executor/hip have GPUs.
//   - Choose the fastest program of the catalog for a call: choose.Chooser, in algorithms/choose. Package algorithms
//     has the catalog's text.
//   - Simulate how long a program takes on a machine: simulate.Run. Package topology has the machines.
//
// # Errors
//
// An error of a file or of options is a [diag.List]: each entry has a code, a position, a text and a hint.
// [diag.Fprint] prints the list with source lines. Any other error is a fault of mscclc, or of the machine.
//
// # Rarely needed
//
// [CompileFile] compiles a file that syntax.Parse has read. [PlanMSCCLPP] and [PlanOfChannels] make execution plans for
// MSCCL++, and [Turns] returns how often a loop of such a plan iterates. [program.Write] writes a program to a program
// file. [verify.Check] proves a program of another tool. ARCHITECTURE.md describes all packages.
package mscclc

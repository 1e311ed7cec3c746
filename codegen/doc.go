// Package codegen has what all formats of programs share: the targets, the detection of a file's format, and the limits
// of targets. It also assembles programs. Each format has a package that reads and writes it:
//
//   - mscclc/codegen/msccl has MSCCL-IR XML, for msccl and RCCL.
//   - mscclc/codegen/mscclpp has the execution plans of MSCCL++. They are made from channel programs. Package
//     mscclc/codegen/mscclpp/lower makes channel programs from one-sided programs.
//   - mscclc/codegen/program has the program files of mscclc, binary and JSON.
//
// # Where to begin
//
//   - [TargetByName] finds a [Target], and [Targets] lists all.
//   - [Detect] returns the format of a file. mscclc.ReadFile reads MSCCL-IR XML and program files, and mscclpp.Read
//     reads execution plans.
//   - [ReadOptions] are the options that all readers accept.
//
// Writers and readers call [CheckLimits]. mscclc.Fits reports which parts of a program a target cannot run.
//
// [Assemble] makes a two-sided program from an instruction DAG whose blocks, order and dependences are set. It also
// marks the steps that make complete sums with the flag Final. [AssembleUnmarked] does the same without the marks. The
// compiler calls it, and then verify.CheckAndMark: the run that proves a program also finds these steps, at less cost.
// If the caller asks for no proof (mscclc.Options.Unproven), the compiler calls Assemble.
//
// Package codegen does not import the packages of the formats.
package codegen

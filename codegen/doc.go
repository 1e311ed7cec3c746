// Package codegen has what all formats of programs share: the targets, the detection of what a file holds, and the
// limits that programs keep to. It also assembles programs. A package of its own reads and writes each format:
//
//   - mscclc/codegen/msccl has MSCCL-IR XML, for msccl and RCCL.
//   - mscclc/codegen/mscclpp has the execution plans of MSCCL++. Its package lower makes them of core programs.
//   - mscclc/codegen/program has the program files of mscclc, binary and JSON.
//
// # Where to begin
//
//   - [TargetByName] finds a [Target], and [Targets] lists all.
//   - [Detect] tells what a file holds. mscclc.ReadFile reads a program of any format.
//   - [ReadOptions] say what all readers accept.
//
// [CheckLimits] is for writers and readers: mscclc.Fits returns what of a program any target cannot run. [Assemble] is
// for the compiler: it makes a program of a placed, ordered and synchronised instruction DAG.
//
// It imports ir and its packages, and no format.
package codegen

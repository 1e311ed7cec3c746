// Package msccl reads and writes MSCCL-IR XML in the dialects of msccl and RCCL. It trusts no number of a file.
//
//   - [Write] writes a program for a codegen.Target with this format; codegen.TargetByName finds the target.
//   - [Read] reads a file of either dialect, or only of the dialect that codegen.ReadOptions names.
//
// It may import codegen, and ir and its packages.
package msccl

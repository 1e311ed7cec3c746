// Package msccl reads and writes MSCCL-IR XML in the dialects of msccl and RCCL. It trusts nothing that a file says.
//
//   - [Write] writes a program for a codegen.Target of that format, which codegen.TargetByName finds.
//   - [Read] reads a file of either dialect, or of the one that codegen.ReadOptions names.
//
// It may import codegen, and ir and its packages.
package msccl

// Package mscclpp reads and writes the execution plans of MSCCL++: the JSON that MSCCL++'s executor loads. It also has
// the limits and the faults of that executor.
//
//   - [Read] reads an execution plan and returns two values. A [Plan] has the file, key by key. An ir.ChannelProgram
//     has the meaning: the operations of each thread block.
//   - [Write] writes a Plan. mscclc.PlanMSCCLPP and mscclc.PlanOfChannels make a Plan and prove it.
//   - [Faults] lists what MSCCL++'s executor does wrongly with a correct Plan.
//   - [Schema] is the JSON schema of execution plans.
//
// [FitOperands], [FitLaunch], [NameLarger] and [PlanOf] are the stages from an ir.ChannelProgram to a Plan; the
// compiler calls them. Package lower makes the ir.ChannelProgram of a one-sided program.
//
// Package mscclpp may import codegen, internal/strictjson, and ir and its packages.
package mscclpp

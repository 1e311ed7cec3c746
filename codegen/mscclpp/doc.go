// Package mscclpp reads and writes the execution plans of MSCCL++: the JSON that MSCCL++'s executor loads. It also
// knows what that executor has room for and what it does wrong.
//
//   - [Read] reads a plan and returns it in two forms: a [Plan] has the file key by key, and an ir.ChannelProgram has
//     what it means.
//   - [Write] writes a Plan. mscclc.PlanMSCCLPP and mscclc.PlanOfChannels make one, with a proof.
//   - [Faults] lists what MSCCL++'s executor does wrong with a plan that is right.
//   - [Schema] is the JSON schema of plans.
//
// [FitOperands], [FitLaunch], [NameLarger] and [PlanOf] are the stages from an ir.ChannelProgram to a Plan; the
// compiler calls them. Package lower makes the ir.ChannelProgram of a core program.
//
// It may import codegen, internal/strictjson, and ir and its packages.
package mscclpp

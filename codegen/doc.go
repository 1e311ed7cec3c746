// Package codegen writes programs in the formats of runtimes, and reads them back. It trusts nothing that a file says.
//
// # Where to begin
//
//   - [WriteMSCCL] writes MSCCL-IR XML for a [Target], which [TargetByName] finds: msccl or rccl.
//   - [ReadFile] reads a file of MSCCL-IR XML, or one that [WritePlan] or [WritePlanJSON] wrote. [ReadMSCCL] and
//     [ReadPlan] read from an io.Reader, and [Detect] tells what a file holds.
//   - [WriteMSCCLPP] writes an execution plan of MSCCL++, which mscclc.PlanMSCCLPP makes. [ReadMSCCLPP] reads one.
//   - [Fits] returns what of a program a target cannot run.
//
// # For the compiler
//
// [Assemble] makes a program of a placed, ordered and synchronised instruction DAG. [ChannelsOf], [FitOperands],
// [FitLaunch], [NameLarger] and [PlanFileOf] are the stages from a one-sided program to a [PlanFile], and
// [FaultsMSCCLPP] lists what MSCCL++'s executor does wrong with a plan that is right. Types named Plan... are the parts
// of a PlanFile.
package codegen

// This file lists all functions of NCCL's headers, of releases up to 2.30: those that this library has, and those that
// it only hands on. Each also exists with a p before its name, as NCCL has it.
#pragma once

#define NAMES_OURS(X)                                                                                             \
  X(ncclAllReduce) X(ncclAllGather) X(ncclReduceScatter) X(ncclBroadcast) X(ncclBcast) X(ncclReduce)              \
  X(ncclAlltoAll) X(ncclGather) X(ncclScatter) X(ncclSend) X(ncclRecv)                                            \
  X(ncclGroupStart) X(ncclGroupEnd) X(ncclGroupSimulateEnd)                                                       \
  X(ncclCommInitRank) X(ncclCommInitRankConfig) X(ncclCommInitRankScalable) X(ncclCommInitAll)                    \
  X(ncclCommSplit) X(ncclCommShrink) X(ncclCommGrow)                                                              \
  X(ncclCommFinalize) X(ncclCommDestroy) X(ncclCommAbort) X(ncclCommRevoke) X(ncclCommSuspend) X(ncclCommResume)  \
  X(ncclCommGetAsyncError) X(ncclGetLastError) X(ncclCommWindowRegister) X(ncclCommWindowDeregister)

#define NAMES_REST(X)                                                                                             \
  X(ncclGetVersion) X(ncclGetUniqueId) X(ncclGetErrorString) X(ncclResetDebugInit)                                \
  X(ncclCommCount) X(ncclCommCuDevice) X(ncclCommUserRank) X(ncclCommGetUniqueId) X(ncclCommMemStats)             \
  X(ncclCommRegister) X(ncclCommDeregister) X(ncclCommQueryProperties) X(ncclMemAlloc) X(ncclMemFree)             \
  X(ncclWinGetUserPtr) X(ncclRedOpCreatePreMulSum) X(ncclRedOpDestroy)                                            \
  X(ncclPutSignal) X(ncclSignal) X(ncclWaitSignal)                                                                \
  X(ncclParamBind) X(ncclParamGet) X(ncclParamGetStr) X(ncclParamGetParameter) X(ncclParamGetAllParameterKeys)    \
  X(ncclParamDumpAll) X(ncclParamGetI8) X(ncclParamGetI16) X(ncclParamGetI32) X(ncclParamGetI64)                  \
  X(ncclParamGetU8) X(ncclParamGetU16) X(ncclParamGetU32) X(ncclParamGetU64)                                      \
  X(ncclDevCommCreate) X(ncclDevCommDestroy) X(ncclGetLsaDevicePointer) X(ncclGetLsaMultimemDevicePointer)        \
  X(ncclGetMultimemDevicePointer) X(ncclGetPeerDevicePointer) X(ncclGinBarrierCreateRequirement)                  \
  X(ncclGinInboxA2ACreateRequirement) X(ncclGinOutboxCreateRequirement) X(ncclLLA2ACreateRequirement)             \
  X(ncclLLA2ACalcSlots) X(ncclLsaBarrierCreateRequirement) X(ncclTeamLsa) X(ncclTeamRail) X(ncclTeamWorld)        \
  X(ncclTeamRankToLsa) X(ncclTeamRankToWorld)

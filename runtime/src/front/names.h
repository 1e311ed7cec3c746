// This file lists all functions that NCCL's headers declare and its library exports, of releases up to 2.31, each with
// the release 2.N that it came with: those that this library has, and those that it only hands on. Each also exists
// with a p before its name, as NCCL has it. names_test.go compares the list with a header.
#pragma once

#define NAMES_OURS(X)                                                                                            \
  X(ncclAllReduce, 3) X(ncclAllGather, 3) X(ncclReduceScatter, 3) X(ncclBroadcast, 3) X(ncclBcast, 3)            \
  X(ncclReduce, 3) X(ncclAlltoAll, 28) X(ncclGather, 28) X(ncclScatter, 28) X(ncclAllReduceConfig, 31)           \
  X(ncclAllGatherConfig, 31) X(ncclReduceScatterConfig, 31) X(ncclBroadcastConfig, 31) X(ncclReduceConfig, 31)   \
  X(ncclAlltoAllConfig, 31) X(ncclGatherConfig, 31) X(ncclScatterConfig, 31) X(ncclSend, 7) X(ncclRecv, 7)       \
  X(ncclGroupStart, 3) X(ncclGroupEnd, 3) X(ncclGroupSimulateEnd, 22) X(ncclGetUniqueId, 3)                      \
  X(ncclCommInitRank, 3) X(ncclCommInitRankConfig, 14) X(ncclCommInitRankScalable, 23) X(ncclCommInitAll, 3)     \
  X(ncclCommSplit, 18) X(ncclCommShrink, 27) X(ncclCommGrow, 29) X(ncclCommFinalize, 14) X(ncclCommDestroy, 3)   \
  X(ncclCommAbort, 4) X(ncclCommRevoke, 28) X(ncclCommSuspend, 29) X(ncclCommResume, 29)                         \
  X(ncclCommGetAsyncError, 4) X(ncclGetLastError, 13) X(ncclCommWindowRegister, 27)                              \
  X(ncclCommWindowDeregister, 27)

#define NAMES_REST(X)                                                                                            \
  X(ncclGetVersion, 3) X(ncclGetErrorString, 3) X(ncclResetDebugInit, 24) X(ncclCommCount, 3)                    \
  X(ncclCommCuDevice, 3) X(ncclCommUserRank, 3) X(ncclCommGetUniqueId, 29) X(ncclCommMemStats, 29)               \
  X(ncclCommRegister, 19) X(ncclCommDeregister, 19) X(ncclCommQueryProperties, 29) X(ncclMemAlloc, 19)           \
  X(ncclMemFree, 19) X(ncclWinGetUserPtr, 29) X(ncclRedOpCreatePreMulSum, 11) X(ncclRedOpDestroy, 11)            \
  X(ncclPutSignal, 29) X(ncclSignal, 29) X(ncclWaitSignal, 29) X(ncclParamBind, 30) X(ncclParamGet, 30)          \
  X(ncclParamGetStr, 30) X(ncclParamGetParameter, 30) X(ncclParamGetAllParameterKeys, 30)                        \
  X(ncclParamDumpAll, 30) X(ncclParamGetI8, 30) X(ncclParamGetI16, 30) X(ncclParamGetI32, 30)                    \
  X(ncclParamGetI64, 30) X(ncclParamGetU8, 30) X(ncclParamGetU16, 30) X(ncclParamGetU32, 30)                     \
  X(ncclParamGetU64, 30) X(ncclDevCommCreate, 28) X(ncclDevCommDestroy, 28) X(ncclGetLsaDevicePointer, 29)       \
  X(ncclGetLsaMultimemDevicePointer, 29) X(ncclGetMultimemDevicePointer, 29) X(ncclGetPeerDevicePointer, 29)     \
  X(ncclGinBarrierCreateRequirement, 28) X(ncclGinInboxA2ACreateRequirement, 29)                                 \
  X(ncclGinOutboxCreateRequirement, 29) X(ncclLLA2ACreateRequirement, 28) X(ncclLLA2ACalcSlots, 28)              \
  X(ncclLsaBarrierCreateRequirement, 28) X(ncclTeamLsa, 28) X(ncclTeamRail, 28) X(ncclTeamWorld, 28)             \
  X(ncclTeamRankToLsa, 28) X(ncclTeamRankToWorld, 28) X(ncclCftBarrierCreateRequirement, 31)                     \
  X(ncclGetCftDeviceLeInfo, 31) X(ncclGetMultimemDeviceLeInfo, 31) X(ncclGetPeerDeviceLeInfo, 31)                \
  X(ncclTeamCft, 31) X(ncclTeamCftMultimem, 31)

// Package data has the elements that collectives move, and checks the results of runs.
//
//   - [DType] and [RedOp] are the element types and the reductions; [DTypeByName] and [RedOpByName] read their names.
//   - [NewGeometry] lays out the buffers of a call. The count argument of NCCL's functions is a number of elements: of
//     one rank's input, say, for an AllGather. This data is a piece. [PieceElems] returns the count of a call whose
//     size in bytes is as nccl-tests prints it.
//   - [New] makes the [Buffers] of a call, filled with random elements. executor.DataArgs passes them to a run. Then
//     [Buffers.Check] compares every output with the expected result, which it computes directly.
//   - [NewPattern] makes random elements that repeat, so that gigabytes are filled and checked in milliseconds.
//
// The package shares no code with the executor: of this module it imports ir alone.
package data

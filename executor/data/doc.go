// Package data has the elements that collectives move, and checks the results of runs.
//
//   - [DType] and [RedOp] are the element types and the reductions; [DTypeByName] and [RedOpByName] read their names.
//   - [NewGeometry] lays out the buffers of a call. A piece is the data that the count argument of NCCL's function
//     counts: for an AllGather, the input of one rank. [PieceElems] takes the size of a call in bytes, as nccl-tests
//     prints it, and returns the number of elements of a piece.
//   - [New] makes the [Buffers] of a call, filled with random elements. executor.DataArgs passes them to a run. Then
//     [Buffers.Check] compares every output with the expected result, which it computes directly.
//   - [NewPattern] makes random elements that repeat, so that gigabytes are filled and checked in milliseconds.
//
// The package shares no code with the executor. Of this module, it imports only ir and ir/epilogue.
package data

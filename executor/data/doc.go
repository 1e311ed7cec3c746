// Package data has the elements that collectives move, and checks what becomes of them.
//
//   - [DType] and [RedOp] are the element types and the reductions; [DTypeByName] and [RedOpByName] read their names.
//   - [NewGeometry] lays out the buffers of a call. [PieceElems] converts the bytes that nccl-tests counts.
//   - [New] makes the [Buffers] of a call, of random elements. executor.DataArgs gives them to a run, and
//     [Buffers.Check] then compares every output with the collective computed directly.
//   - [NewPattern] makes random elements that repeat, so that gigabytes are filled and checked in milliseconds.
//
// The package shares nothing with what runs programs: of this module it imports ir alone.
package data

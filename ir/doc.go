// Package ir holds operations (Ops), collectives and their post-conditions, and the forms of a collective algorithm
// between its text (.mscl) and its compiled files. Package ir/text writes each form as text.
//
// A ChunkDAG says which chunk goes where. Its operations are in the order of the file. The result is that of executing
// them one after the other in this order. Dependences follow from the order. In the example, gathered is a scratch
// buffer, to which the file gives this name.
//
//	rank 0  input[0] ---copy---> rank 1 gathered[0] --+
//	                                                  +--reduce--> rank 1 input[0]
//	                             rank 1 input[0] -----+
//
// An InstDAG has instructions of single ranks. An instruction sends, receives, or works on chunks of its own rank. A
// send and its receive are mates. Passes add the dependences, the thread blocks and the order of steps. In the example,
// s sends, r receives, and re reduces.
//
//	rank 0                        rank 1
//	i0 s input[0] ===message===> i1 r gathered[0]
//	                              |  dependence
//	                             i2 re gathered[0] => input[0]
//
// A Program is the final form: the blocks of all ranks, each with its steps. Package ir/fifo has the type of two-sided
// programs, and ir/onesided has the type of one-sided programs. A value of the type in ir/either is a program of one of
// the two kinds. A ChannelProgram lists operations on MSCCL++'s channels, as an execution plan does.
//
// Package ir/eval defines the meaning of these forms, by running them on symbolic chunks. Of a ChannelProgram, package
// passes/channels makes a one-sided program first. Package ir/property checks the properties of an InstDAG, and ir/form
// checks that a form is well formed. Package ir/verify proves programs.
//
// A Schedule has the waits of a program. Schedule.Run runs the blocks, and reports whether all of them end, or which
// blocks wait for each other.
package ir

// Package ir holds what a collective algorithm is between its text and its
// files: operations (Ops), collectives and their post-conditions, and three
// forms of a program. Package ir/text writes each of them as text.
//
// A ChunkDAG says which chunk goes where. Its operations stand in the file's
// order, which is their meaning; dependences follow from it.
//
//	rank 0  input[0] ---copy---> rank 1 gathered[0] --+
//	                                                  +--reduce--> rank 1 input[0]
//	                             rank 1 input[0] -----+
//
// An InstDAG says it with instructions of single ranks, which send, receive and
// work on chunks of their own. Sends and receives are mates; passes give the
// dependences, the thread blocks, the order of steps and the flags.
//
//	rank 0                        rank 1
//	i0 s input[0] ===message===> i1 r gathered[0]
//	                              |  dependence
//	                             i2 re gathered[0] => input[0]
//
// A Program is frozen: the blocks of all ranks, each with its steps, as all
// targets run them. Package ir/fifo has the type of two-sided programs,
// ir/onesided that of one-sided ones, and ir/either that of both.
//
// Package ir/eval says what all of them mean, by running them on symbolic
// chunks, ir/property which properties an InstDAG has, and ir/form what is well
// formed. A Schedule tells whether blocks that wait for each other come to an
// end. Package ir/verify judges programs.
package ir

// Package lang reads the .mscl language: a file says which chunks of one
// collective go where, and Expand turns it into an ir.ChunkDAG for concrete
// ranks. In: text. Out: operations on chunks that touch only what exists, read
// only what is written, and leave what the collective says; or a diag.List.
//
//	text --syntax.Parse--> *syntax.File --Expand--> *ir.ChunkDAG
//	                                    --ExpandLevel--> that, or *ir.ChannelProgram
//
// # Where to begin
//
//   - mscclc.Compile reads, expands and compiles a file. [Options] and [Params] say for what.
//   - [syntax.Parse] reads a file, and [Expand] evaluates it for concrete ranks.
//   - [syntax.Format] writes a file as mscclc fmt does.
//
// # The language in brief
//
// A file is UTF-8. # starts a comment. A newline ends a statement unless it is
// inside ( ) or [ ], follows {, a comma, =, .. or an operator, or comes before .
// or else. Integers are decimal, with _ between digits and a suffix K, M or G
// for powers of 1024, also as k, KB or KiB.
//
//	algorithm NAME(param = default, ...)    first; -p param=value sets it
//	collective KIND(ranks, ...)             what must hold at the end; required
//	protocol Simple | LL | LL16 | LL128
//	sizes 1K..1M                            bytes that it is for, half open
//	ranks_per_node N
//	scratch NAME[chunks]                    a buffer of every rank
//	import "FILE"                           the functions that a library itself has
//
// then functions and statements. A file without an algorithm line is a library:
// imports and functions. The collectives and their arguments:
//
//	allreduce(ranks, chunks = ranks, inplace)      allgather(ranks, chunks = 1, inplace)
//	reducescatter(ranks, chunks = 1, inplace)      alltoall(ranks, chunks = 1)
//	broadcast(ranks, root = 0, chunks = 1, inplace)
//	reduce(ranks, root = 0, chunks = ranks, inplace)
//	gather, scatter(ranks, root = 0, chunks = 1, inplace)
//	sendrecv(ranks, peer, chunks = 1)              peer[r] gets what r has
//	custom(ranks, input, output) { require chunk(r, output, i) == E }
//
// where E is chunk(q, input, j) or sum(list of these).
//
//	let x = e        x = e        return e        assert(cond, "text")
//	if c { } else if c { } else { }
//	for i in a..b by s if c, x in list { }
//	parallelize(n) { }                      its operations are done in n parts
//	def f(a, b = 1) = e        def f(a, b = 1) { }        no recursion
//
// A name's kind, which is integer, boolean, string, list, buffer or reference,
// is fixed by its first value. Operators from loose to tight:
//
//	||    &&    == != < <= > >= (not chained)    |    ^    &    << >>    + -    * / %    - ! (prefix)
//
// Division and remainder floor. Integers have 64 bits; what does not fit is an
// error. + also joins lists. [e for x in a..b if c] makes a list, l[i] and
// l[i..j] take its parts, and min, max, abs, log2 and len are functions.
//
//	chunk(rank, buffer, index, count = 1)   a reference, with .rank .buffer .index .count, c[i], c[i..j]
//	c.copy(rank, buffer, index)             buffer and index default to c's; a list of ranks gives a list
//	c.reduce(other, ...)                    c = c ⊕ other, of references and lists of them
//	reduce(list, rank, buffer, index)       writes their reduction there
//
// with the hints ch, sendtb, recvtb, lane, via = memory|port|switch and pull = true. The
// last three are for the one-sided lowering: pull has the reader fetch what another
// would write; lane is which of a rank's blocks
// moves the data, where it may have several; memory is loads and stores, port a copy that the host has a GPU's copy
// engine make, and switch the network's own arithmetic, which reduces one chunk of
// input or output of all ranks, or copies a chunk to one place of all ranks. A
// reference is to what its chunks held when it was made: after any write to
// them it is stale, and using it is an error.
//
// # Channels
//
// For experts, an algorithm can say itself which thread block does what, over
// which channel: the level of channels, where tb = N stands at every operation.
// ExpandLevel makes an ir.ChannelProgram of it, which MSCCL++ has plans for. An
// algorithm is of one level. None of these words is reserved:
//
//	channel(rank, peer, via = memory)        rank's end of a channel to peer, memory or port; the
//	                                         k-th there pairs with the k-th back
//	channel(rank, ranks, via = switch)       rank's end of one among ranks
//	semaphore(rank, initial = 0)             counts among the blocks of rank
//	c.signal(tb), c.wait(tb)                 relaxed = true: a memory channel's order no memory; a
//	                                         port's order it all the same
//	c.flush(tb)                              port: all that was put has left
//	c.put(src, buffer, index, tb)            src of the rank, to the peer, or to all ranks of a switch
//	c.get(src, buffer, index, tb)            src of the peer, to the rank; switch: the sum of all at src
//	c.allreduce(src, buffer, index, tb)      switch: the sum of all at src, to all
//	s.acquire(tb), s.release(tb)             a semaphore
//	barrier(rank, [tb, ...])                 these thread blocks wait for each other
//	x.copy(rank, buffer, index, tb)          within a rank
//	x.reduce(other, ..., tb, to)             others through the rank's memory channels
//	reduce(list, rank, buffer, index, tb, to)
//	pipeline(unit = BYTES, chunks = N) { }   a loop: operations on N chunks, unit bytes of each at a time
//	launch(threads = 1024, align = 16, double_scratch = false, reuse_scratch = false)
//
// Buffer and index default to src's. A list of channels or semaphores stands for
// each of them in turn. tb = [0, 1] shares an operation on chunks out among these
// blocks. to is a reference, or a list, that gets the reduction too, on any rank.
//
// The compiler inserts block barriers where they are needed: before a signal, if the
// threads have moved data or waited; after a wait; and between operations on memory
// that one of them writes, also from one loop iteration of a pipeline to the next.
// sync = false says that an operation needs none, and barrier(rank, [tb]) adds one.
// Neighbouring signals, waits and puts become one operation where that means the same.
//
// With protocol LL what lies in scratch is packets: a put or a copy there makes
// them, reading them waits for them, and packets = false at an operation says
// that it finds or leaves plain data. double_scratch has launches use two halves
// of scratch in turn.
//
// The proof finds deadlocks, races and wrong results; the language does not. One
// file serves calls in place and out of place. A file that is written in place is
// read in a run for which chunks are in input as they came, and which were written
// and lie in output (channels.OutOfPlace).
//
// # In place
//
// With inplace = true input and output are one memory, laid out as NCCL has it.
// Input that is not also output may be written in the file, and is never
// modified by what is compiled: such a chunk lives in a scratch buffer, called
// moved, from its first write on. Options.Inplace asks for the other placement
// than the file's; ir/placement says how.
//
// # Limits
//
// Every file ends: Limits bound its size, evaluation steps, operations, chunks,
// lists and nesting, and a message names the limit that it met. An iteration
// costs a step, a call 4, each 16 tokens of what is repeated or called one
// more, a chunk moved one for each operand, an element of a list 8.
//
// # Files
//
// lang/syntax reads the text. header.go evaluates the declarations and params.go
// the parameters. compile.go, loop.go, expr.go, call.go and chunkcall.go turn
// statements into closures over one slot for each variable. expansion.go holds the
// chunks while they run, and result.go judges the outputs. channel.go begins what
// is at the level of channels.
package lang

import (
	_ "embed"
	"strings"
)

//go:embed doc.go
var packageComment string

// Brief returns a section of the package comment, by its heading, as plain text; "" where there is none.
func Brief(heading string) string {
	_, text, _ := strings.Cut(packageComment, "\n// # "+heading+"\n//\n")
	text, _, _ = strings.Cut(text, "\n// # ")
	text, _, _ = strings.Cut(text, "\npackage ")
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(strings.TrimRight(line, "\n"), "//"), " "))
	}
	return strings.ReplaceAll(strings.TrimSpace(strings.Join(lines, "\n")), "\t", "    ")
}

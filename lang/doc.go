// Package lang reads the .mscl language. A file says which chunks of one collective go where. Expand turns it into an
// ir.ChunkDAG for a given number of ranks. Expand checks that every index is in range, that every chunk is written
// before it is read, and that the outputs hold what the collective says. Otherwise it returns a diag.List.
//
//	text --syntax.Parse--> *syntax.File --Expand--> *ir.ChunkDAG
//	                                    --ExpandLevel--> *ir.ChunkDAG, or *ir.ChannelProgram
//
// # Where to begin
//
//   - mscclc.Compile reads, expands and compiles a file. [Options] and [Params] say for what.
//   - [syntax.Parse] reads a file, and [Expand] evaluates it for concrete ranks.
//   - [syntax.Format] writes a file as mscclc fmt does.
//
// # The language in brief
//
// A file is UTF-8. The character # starts a comment. A newline ends a statement, except where it is:
//
//	inside ( ) or [ ]
//	after        {    ,    =    ..    an operator
//	before       .    the word "else"
//
// Integers are decimal. They may have _ between digits, and end with K, M or G for powers of 1024, also written as k,
// KB or KiB.
//
//	algorithm NAME(param = default, ...)    first; -p param=value sets it
//	collective KIND(ranks, ...)             what must hold at the end; required
//	protocol Simple | LL | LL16 | LL128
//	sizes 1K..1M                            the file is for calls of at least 1K and less than 1M bytes
//	ranks_per_node N
//	scratch NAME[chunks]                    a buffer of every rank
//	import "FILE"                           the functions that FILE, a library, defines
//
// Functions and statements follow. A file without an algorithm line is a library, which has only imports and functions.
// A file gets the functions that its library defines, but not those that the library imports. The collectives follow.
// Their argument chunks is the number of chunks of the input or the output, whichever is smaller; in an AllToAll, it is
// the number of chunks for each pair of ranks:
//
//	allreduce(ranks, chunks = ranks, inplace)      allgather(ranks, chunks = 1, inplace)
//	reducescatter(ranks, chunks = 1, inplace)      alltoall(ranks, chunks = 1)
//	broadcast(ranks, root = 0, chunks = 1, inplace)
//	reduce(ranks, root = 0, chunks = ranks, inplace)
//	gather, scatter(ranks, root = 0, chunks = 1, inplace)
//	sendrecv(ranks, peer, chunks = 1)              peer[r] gets what r has
//	custom(ranks, input = N, output = M) { require chunk(r, output, i) == E }
//
// Here E is chunk(q, input, j), or sum(LIST) of such chunks. Statements:
//
//	let x = e        x = e        return e        assert(cond, "text")
//	if c { } else if c { } else { }
//	for i in a..b by s if c { }             i is a, a + s, ... before b; leaves out each i for which c is false
//	for x in list if c { }
//	for i in a..b, x in list { }            nested loops, the first outermost; each may have its own if
//	parallelize(n) { }                      splits each operation in the braces into n parts
//	def f(a, b = 1) = e        def f(a, b = 1) { }        no recursion
//
// A name's kind, which is integer, boolean, string, list, buffer or reference, is fixed by its first value. Operators
// from loose to tight:
//
//	||    &&    == != < <= > >= (not chained)    |    ^    &    << >>    + -    * / %    - ! (prefix)
//
// Division rounds down, so a % b is never negative if b is positive. Integers have 64 bits; a result that needs more is
// an error. + also joins lists. [e for x in a..b if c] makes a list, l[i] and l[i..j] take parts of list l, and min,
// max, abs, log2 and len are functions. Below, ⊕ is the reduction of the call, such as a sum:
//
//	c = chunk(rank, buffer, index, count = 1)   a reference, with .rank .buffer .index .count, c[i], c[i..j]
//	c.copy(rank, buffer, index)                 buffer and index default to c's; a list of ranks gives a list
//	c.reduce(other, ...)                        c becomes c ⊕ other; others are references or lists of them
//	reduce(list, rank, buffer, index)           writes the reduction of the list's chunks there
//
// These operations can have hints. For the two-sided lowering:
//
//   - ch = N: the channel of MSCCL-IR.
//   - sendtb = N, recvtb = N: the thread block that sends, and the one that receives.
//
// For the one-sided lowering:
//
//   - pull = true: the reader loads the data from the other rank. Without it, the owner of the data stores it.
//   - lane = N: operations of a rank with the same N share a thread block, if the rank may have several blocks.
//   - via = memory: loads and stores. via = port: a copy by a GPU's copy engine, which the host starts. via = switch:
//     the NVLink switch reduces one chunk of input or output of all ranks, or copies a chunk to the same chunk of all
//     ranks. So far, mscclc's executor does this in the usual kernel, without the switch.
//
// A reference names chunks as they were when it was made. After any write to them, the reference is stale, and its use
// is an error.
//
// # Channels
//
// An author who is an expert can choose the thread block and the channel of each operation. This is the channel level,
// where every operation has tb = N. ExpandLevel turns such a file into an ir.ChannelProgram, from which execution plans
// of MSCCL++ are made. All operations of an algorithm are at one level. None of the words below is reserved:
//
//	channel(rank, peer, via = memory)        rank's end of a channel to peer, of kind memory or port. The
//	                                         k-th end at rank for peer and the k-th end at peer for rank
//	                                         are one channel
//	channel(rank, ranks, via = switch)       rank's end of a switch channel among ranks
//	semaphore(rank, initial = 0)             a counter that the blocks of rank share
//	c.signal(tb)                             signals the peer once
//	c.wait(tb)                               waits for the next signal of the peer. With relaxed = true, signal
//	                                         and wait of memory channels do not order memory; those of port
//	                                         channels still do
//	c.flush(tb)                              port: waits until all puts have left
//	c.put(src, buffer, index, tb)            copies src, chunks of the rank, to the peer; switch: to all ranks
//	c.get(src, buffer, index, tb)            copies src, chunks of the peer, to the rank; switch: sums the
//	                                         chunks of all ranks at the place of src, to the rank
//	c.allreduce(src, buffer, index, tb)      switch: writes the same sum to all ranks
//	s.acquire(tb)                            waits until semaphore s is above 0, and subtracts 1
//	s.release(tb)                            adds 1 to semaphore s
//	barrier(rank, [tb, ...])                 these thread blocks wait for each other
//	x.copy(rank, buffer, index, tb)          within a rank
//	x.reduce(other, ..., tb, to)             writes x ⊕ others to x and to the chunks of the argument "to";
//	                                         operands in other ranks' memory are read over
//	                                         memory channels
//	reduce(list, rank, buffer, index, tb, to)
//	                                         as reduce above, with "to" as in x.reduce
//	pipeline(unit = BYTES, chunks = N) { }   a loop: operations on N chunks, unit bytes of each at a time
//	launch(threads = 1024, align = 16, double_scratch = false, reuse_scratch = false)
//
// The arguments buffer and index default to those of src. An operation on a list of channels or semaphores acts on each
// of them in turn. With tb = [0, 1], each of these two thread blocks does a part of the operation. The argument "to" is
// a reference, or a list of references, to chunks of any rank. They get the result of the reduction too.
//
// The function launch sets options of the execution plan. With double_scratch, launches use the two halves of scratch
// alternately. With reuse_scratch, the plan shares its scratch with other plans of MSCCL++: in the plan's file, this is
// the key reuse_resources.
//
// The compiler inserts block barriers in these places: before a signal, if the threads have moved data or waited; after
// a wait; and between two operations on the same memory, if one of them writes it. The two operations may be in
// neighbouring loop iterations of a pipeline. With sync = false, an operation gets no block barrier. barrier(rank,
// [tb]) adds one. The compiler merges neighbouring signals, waits or puts into one operation, if the meaning is the
// same.
//
// With protocol LL, scratch holds packets: data with a flag. A put or a copy to scratch writes packets, and a read of
// scratch waits for them. With packets = false, an operation reads or writes plain data there.
//
// ExpandLevel does not compute what the chunks of a file at the channel level hold. The proof finds deadlocks, races
// and wrong results. One file serves calls in place and out of place. For calls out of place, channels.OutOfPlace
// converts a file that is written in place: a chunk is in input until the program writes it, and in output after that.
//
// # In place
//
// With inplace = true, input and output share memory, with NCCL's layout. A file may write input chunks that are not
// also output. The compiled program never modifies such a chunk in the caller's memory: from the first write on, the
// chunk is in a scratch buffer called moved.
//
// Options.Inplace says whether calls are in place or out of place. If the file is for the other kind of calls,
// ir/placement converts the ChunkDAG.
//
// # Limits
//
// The evaluation of every file ends: Limits bound its size, evaluation steps, operations, chunks, lists and nesting. An
// error names the limit that was reached. An iteration costs 1 step and a call 4 steps. Each 16 tokens of the repeated
// or called text cost 1 more. A copy or a reduction costs 1 step for each chunk of each operand. An element of a list
// costs 8 steps.
//
// # Files
//
// lang/syntax reads the text. header.go evaluates the declarations and params.go the parameters. compile.go, loop.go,
// expr.go, call.go and chunkcall.go turn statements into closures over one slot for each variable. expansion.go holds
// the chunks while the closures run, and result.go checks the outputs. channel.go is the first of the files for the
// channel level, and lang/internal/channels makes the program there.
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

package diag

// explanations has an entry for every code. An example is a .mscl file, which
// begins with its algorithm; an XML file; a plan's JSON; or a command line after
// $, where the fault is not in a file. Tests run the examples that are files.
var explanations = []Explanation{
	{Malformed, `
The file is not what its format says. For XML that is a missing or unreadable
attribute, steps or thread blocks that are not numbered 0, 1, 2, ..., a nop
with nothing behind it that waits, two thread blocks at one end of a connection
(channel, source, destination), or consecutive reductions into one chunk, which
the runtimes fuse, with different counts. The runtimes check little of this:
such a file would hang or corrupt memory there.`, `
<algo name="a" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="1" coll="allreduce" inplace="1">
  <gpu id="0" i_chunks="1" o_chunks="0" s_chunks="1">
    <tb id="0" send="-1" recv="-1" chan="0">
      <step s="1" type="cpy" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
`, ""},
	{Limit, `
Something is larger than a target or a stated budget allows: the steps of a
thread block, the blocks or channels of a program, or the work that one file
may cause. The message names the limit, and where it is one of mscclc's own
budgets, the flag that raises it. For a target's limit the ways out are fewer
ranks, chunks or instances, more channels, or --target plan, which has none.`, `
algorithm huge()
collective allreduce(2)
scratch s[50_000_000]
chunk(0, input, 0).copy(1, output, 0)
`, ""},
	{OutOfBounds, `
A rank beyond the last, or a chunk beyond its buffer. Buffers have the lengths
that the collective gives them, which may differ from rank to rank: only the
root of a broadcast has input. A count reaches as far as index + count - 1.`, `
algorithm beyond()
collective allreduce(2, chunks = 2)
chunk(0, input, 2).copy(1, output, 0)
`, ""},
	{Unmatched, `
A send without its receive, a receive without its send, or the two ends of a
transfer that disagree. The n-th send of a connection (channel, source,
destination) meets its n-th receive, and both must move the same number of
chunks. Compiled programs match by construction; files by other tools may not.`, `
<algo name="a" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="broadcast" inplace="0">
  <gpu id="0" i_chunks="2" o_chunks="2" s_chunks="0">
    <tb id="0" send="1" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="0" o_chunks="2" s_chunks="0">
    <tb id="0" send="-1" recv="0" chan="0">
      <step s="0" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
`, ""},
	{Deadlock, `
Steps that wait for each other. A step waits for the one before it in its
thread block, a receive for its message, a send for a free slot of its
connection (2 messages are in flight for Simple, 8 for LL and LL128), and a
step with depid for that block's step. The notes are a shortest cycle of such
waits. A transfer of many large chunks is cut into several messages, so that a
program may run for small sizes and hang above some size, which the message
then names. Here both ranks receive before they send.`, `
<algo name="a" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="2" coll="allreduce" inplace="1">
  <gpu id="0" i_chunks="1" o_chunks="0" s_chunks="1">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="0" s_chunks="1">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
`, ""},
	{Race, `
Two thread blocks of a rank use one chunk, at least one of them writes it, and
nothing says which comes first: neither the order of a block's steps nor a wait
(depid, deps, hasdep). The result then depends on timing. In place, chunks of
input and of output are one memory, and race too. Compiled programs have a wait
for every such pair.`, `
<algo name="a" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="1" coll="allreduce" inplace="0">
  <gpu id="0" i_chunks="1" o_chunks="1" s_chunks="1">
    <tb id="0" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="s" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
`, ""},
	{Uninitialized, `
A chunk is read before anything writes it. Output and scratch hold nothing at
the start: only input does.`, `
<algo name="a" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="1" coll="allreduce" inplace="0">
  <gpu id="0" i_chunks="1" o_chunks="1" s_chunks="1">
    <tb id="0" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="s" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
`, ""},
	{WrongResult, `
At the end an output chunk does not hold what the collective says: a part is
missing, is there twice, or is foreign. The message says which of the first such
chunk, where in[r][i] is chunk i of rank r's input; the notes say what it should
hold, which step wrote it last, and how many others are wrong. Here rank 0 never
gets the sum back.`, `
<algo name="a" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="2" coll="allreduce" inplace="1">
  <gpu id="0" i_chunks="1" o_chunks="0" s_chunks="0">
    <tb id="0" send="1" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="0" s_chunks="0">
    <tb id="0" send="-1" recv="0" chan="0">
      <step s="0" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
`, ""},
	{Uneven, `
Chunks of different lengths meet. Where a call's bytes do not divide by the
number of chunks, the last chunks of each piece are shorter, and a step whose
operands have different places in their pieces (classes) would mix lengths. A
program that says "even": true instead promises to be run only with sizes that
divide, as MSCCL-IR's runtimes demand anyhow; a run with others has this code.`, `
{"format":"mscclc-plan","version":1,"name":"a","collective":{"kind":"allreduce","ranks":1,"chunks":2,"inplace":false},
"protocol":"Simple","sizes":[0,0],"ranks_per_node":1,"channels":1,"even":false,"in_place":false,"out_of_place":true,
"files":[],"spans":[],"ranks":[
{"rank":0,"scratch":0,"blocks":[{"send":-1,"recv":-1,"channel":0,"steps":[
{"op":"cpy","src":{"buf":"i","index":0},"dst":{"buf":"o","index":0},"count":1,"class":1,"pos":-1},
{"op":"cpy","src":{"buf":"i","index":1},"dst":{"buf":"o","index":1},"count":1,"class":1,"pos":-1}]}]}
]}
`, ""},
	{NotFinal, `
A step that is marked as making a complete sum ("final" in a plan) and does not,
or the reverse. An average divides at these steps, so that a mark too many or
too few would divide twice or not at all. XML has no such marks: they are worked
out where it is read.`, `
{"format":"mscclc-plan","version":1,"name":"a","collective":{"kind":"allgather","ranks":1,"chunks":1,"inplace":false},
"protocol":"Simple","sizes":[0,0],"ranks_per_node":1,"channels":1,"even":false,"in_place":false,"out_of_place":true,
"files":[],"spans":[],"ranks":[
{"rank":0,"scratch":0,"blocks":[{"send":-1,"recv":-1,"channel":0,"steps":[
{"op":"cpy","src":{"buf":"i","index":0},"dst":{"buf":"o","index":0},"count":1,"final":true,"pos":-1}]}]}
]}
`, ""},
	{Undecided, `
Whether the program is good was not decided within the stated budget of work.
Nothing undecided is accepted: raise the budget (--limit work=N). The search for
races needs much where thousands of thread blocks wait for each other, or where
messages and not flags order the accesses of many ranks. This program is proven
as soon as it may take 2.`, `
<algo name="a" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="1" coll="allreduce" inplace="0">
  <gpu id="0" i_chunks="1" o_chunks="1" s_chunks="2">
    <tb id="0" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="s" srcoff="0" dstbuf="s" dstoff="1" cnt="1" depid="0" deps="0" hasdep="1"/>
    </tb>
    <tb id="2" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="s" srcoff="1" dstbuf="o" dstoff="0" cnt="1" depid="1" deps="0" hasdep="0"/>
    </tb>
  </gpu>
</algo>
`, "mscclc verify example.xml --limit work=1"},

	{Syntax, `
The text is not of the grammar. The message names what stands there and what
was expected. A newline ends a statement unless it is inside parentheses or
follows a comma or an operator, and { stays on its line.`, `
algorithm a(
collective allreduce(2)
`, ""},
	{Lexical, `
A character or a literal that the language does not have: a string without its
end, a number too large for 64 bits, // where a comment begins with #.`, `
algorithm a()
collective allreduce(2)
let x = 9999999999999999999999
`, ""},
	{Undefined, `
A name that nothing declares. It may be misspelt, declared further down, or
declared in a block that has ended.`, `
algorithm a()
collective allreduce(2)
chunk(0, inptu, 0).copy(1, output, 0)
`, ""},
	{Redefined, `
A name is declared twice in one block, or is that of a builtin, of input or of
output.`, `
algorithm a()
collective allreduce(2)
let x = 1
let x = 2
`, ""},
	{Kind, `
A value of another kind than is needed. A name keeps the kind of its first
value: integer, boolean, string, list, buffer or reference.`, `
algorithm a()
collective allreduce(2)
let x = 1 + true
`, ""},
	{Assign, `
A name that cannot be assigned: parameters and loop variables keep their
values. Declare a name of your own with let.`, `
algorithm a(n = 1)
collective allreduce(2)
n = 2
`, ""},
	{Arguments, `
Too many or too few arguments, one given twice, or a name that the function
does not have.`, `
algorithm a()
collective allreduce(2)
let x = min()
`, ""},
	{Arithmetic, `
An operation that has no result: division by zero, overflow of 64 bits, a shift
by less than 0 or more than 63, log2 of a number that is no power of two.`, `
algorithm a()
collective allreduce(2)
let x = 1 / 0
`, ""},
	{AssertFailed, `
An assert of the file does not hold; the message is its text. The file's author
rejects these values of the parameters.`, `
algorithm a(n = 3)
collective allreduce(2)
assert(n % 2 == 0, "n must be even")
`, ""},
	{Stale, `
A reference to a chunk that has been overwritten. A reference stands for the
value that the chunk held when it was made; after any write to the chunk, also
by c's own reduce, it is stale. Write c = c.reduce(x), or make a new reference
with chunk(...).`, `
algorithm a()
collective allreduce(2, chunks = 1, inplace = true)
let c = chunk(0, input, 0)
c.reduce(chunk(1, input, 0))
c.copy(1, input, 0)
`, ""},
	{ReadOnlyInput, `
A write to input in a file that is written out of place. Input is the caller's:
write to output or to scratch, or declare the collective inplace = true.`, `
algorithm a()
collective allreduce(2)
chunk(0, input, 0).copy(1, input, 0)
`, ""},
	{Counts, `
The operands of a copy or a reduction have different counts.`, `
algorithm a()
collective allreduce(2, chunks = 4, inplace = true)
chunk(0, input, 0, 2).reduce(chunk(1, input, 0, 3))
`, ""},
	{Overlap, `
A source and a destination overlap in part, so that some chunks would be
overwritten before they are read. A copy onto exactly itself does nothing, and
is allowed.`, `
algorithm a()
collective allreduce(2, chunks = 4, inplace = true)
chunk(0, input, 0, 2).copy(0, input, 1)
`, ""},
	{Recursion, `
A function that calls itself, directly or through others. Use a loop.`, `
algorithm a()
collective allreduce(2)
def f(n) = f(n - 1)
let x = f(1)
`, ""},
	{ImportFailed, `
A file that cannot be imported: it does not exist, is a whole algorithm and no
library, imports itself, or declares a name that another file has declared. Its
name is relative to the file that imports it.`, `
algorithm a()
collective allreduce(2)
import "nowhere.mscl"
`, ""},
	{Declaration, `
A declaration that is missing, stands in the wrong place or is repeated. A file
begins with its algorithm, and has one collective; declarations come before
functions and statements.`, `
algorithm a()
chunk(0, input, 0).copy(1, output, 0)
`, ""},
	{Parameter, `
A -p that does not fit the file: the algorithm has no parameter of that name,
or one of another kind.`, `
$ mscclc compile ring.mscl -p rnaks=8
`, ""},
	{Hint, `
A hint that cannot be followed: ch, sendtb and recvtb would need a thread block
with two peers to send to or to receive from, or would put the two ends of a
connection on different channels. The note shows what it conflicts with.`, `
algorithm a()
collective alltoall(3)
for r in 0..3, q in 0..3 { chunk(r, input, q).copy(q, output, r, sendtb = 0, recvtb = 0, ch = 0) }
`, ""},
	{Unused, `
A value that nothing uses, as a statement by itself. A bare statement is a call
or an operation: copy, reduce or assert.`, `
algorithm a()
collective allreduce(2)
1 + 1
`, ""},
	{NotInPlace, `
The collective has no in-place form (alltoall, sendrecv and custom), or the
file, expanded with input and output as one memory, no longer meets the
post-condition.`, `
$ mscclc compile two_step.mscl --inplace=true
`, ""},
	{Unsupported, `
What a target, a format or a program cannot do: a collective or a protocol that
the target has no word for, a step that it rejects, an average where no step
makes the whole sum.`, `
$ mscclc compile a.mscl --protocol LL16 --target msccl
`, ""},
	{Unavailable, `
What this machine or this build of mscclc cannot do, whatever the input: a
device that is not there, the CPU device in a build without cgo, a target whose
writer does not exist yet, buffers larger than the memory.`, `
$ mscclc run allreduce/ring --device cuda
`, ""},
	{Io, `
A file that cannot be read or written. The message is the system's.`, `
$ mscclc verify no-such-file.xml
`, ""},
	{Internal, `
A fault of mscclc itself, not of its input. Please report it with the file and
the command line.`, `
(no input should bring this about)
`, ""},
	{Timeout, `
A wait on a device that outlasted its deadline. The report names rank, thread
block, step and source line, what was waited for and what was seen. A program
that mscclc has verified does not hang by itself: look for a rank that died or
was never started.`, `
$ mscclc run ring.mscl --timeout 1ms --bytes 1G
`, ""},
}

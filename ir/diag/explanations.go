package diag

import "slices"

// explanations has an entry for every code. An example is a .mscl file, which
// begins with its algorithm; an XML file; a plan's JSON; or a command line after
// $, where the fault is not in a file. Tests run the examples that are files.
var explanations = slices.Concat(ofPrograms, ofMSCCLPP, ofLint, ofTheRest)

// ofPrograms are the codes of programs, as ir/verify rejects them.
var ofPrograms = []Explanation{
	{Malformed, `
The file is not what its format says. For XML that is a missing or unreadable
attribute, steps or thread blocks that are not numbered 0, 1, 2, ..., a nop with
nothing behind it that waits, two thread blocks at one end of a connection
(channel, source, destination), or consecutive reductions into one chunk, which
the runtimes fuse, with different counts. The runtimes check little of this:
such a file would hang or corrupt memory there. Of a one-sided program (a plan):
a step with an operand or a mark that it cannot have, such as a wait at a flag
of another rank, packets where the protocol is Simple, or a joint step that no
move is before; and a flag or a chunk of packets that two blocks signal, send or
take. Of a table (bench --table): a field that is unknown, missing, there twice
or out of range, and a rule or an entry that another hides.`, `
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
root of a broadcast has input. A count reaches as far as index + count - 1. A
step of a one-sided program names memory of any rank, so that its operands are
measured with the buffers, packets and flags of the rank that they name.`, `
algorithm beyond()
collective allreduce(2, chunks = 2)
chunk(0, input, 2).copy(1, output, 0)
`, ""},
	{Unmatched, `
A send without its receive, a receive without its send, or the two ends of a
transfer that disagree. The n-th send of a connection (channel, source,
destination) meets its n-th receive, and both must move the same number of
chunks. Compiled programs match by construction; files by other tools may not.
In a one-sided program: a chunk of packets that is read and never sent, or sent
and never read, or a flag that is awaited and never signalled.`, `
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
Steps that wait for each other. A step waits for the one before it in its thread
block, a receive for its message, a send for a free slot of its connection (2
messages are in flight for Simple, 8 for LL, LL16 and LL128), and a step with
depid for that block's step. The notes are a shortest cycle of such waits. A
transfer of many large chunks is cut into several messages, so that a program
may run for small sizes and hang above some size, which the message then names.
Here both ranks receive before they send.

In a one-sided program nothing but a wait and a step that reads packets waits: a
wait for so many signals of its flag, of this pass or of those before it, the
other for the step that sends the packets. Stores, signals and packets wait for
nobody, so that slots and sizes are all the same; a signal that no step gives is
never there.`, `
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
nothing says which comes first: neither the order of a block's steps, nor a wait
(depid, deps, hasdep), nor messages, perhaps by way of other ranks. A message of
Simple makes all visible that its sender did before; one of LL and LL128 only
what it carries, so that a write behind it may still be overtaken by a read. The
result then depends on timing. In place, chunks of input and of output are one
memory, and race too. Compiled programs have a wait for every such pair.

In a one-sided program blocks of any rank may race, in one pass or across
passes: a wait sees all that was written before the signals, while packets tell
only that the sender's earlier steps are over, and show nothing of what it wrote
elsewhere. Scratch and packets are used again every few passes, and must have
been read by then. A rank's input and output are there for others only during
its launch: it says that it has begun by a signal marked enter, and waits for
their last accesses by a wait marked leave.

Most races in plans of MSCCL++ are a missing nop. The threads of a block go on
by themselves; a wait is done by one of them, so that the others may do what is
behind it before it is over, and a signal may tell of a put that other threads
have not done. So there is a nop behind a wait and before a signal, and between
operations of which one writes what the other reads or writes; in .mscl it is
there unless sync = false. A signal at the same place of its list as a wait
before it is by the same thread, and tells without a nop what that thread
waited for. Relaxed signals make nothing visible: who writes another rank's
output tells it by a plain one.`, `
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
the start: only input does. In a one-sided program scratch holds nothing at the
start of each pass, whatever the pass before left there.`, `
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
gets the sum back. Of a one-sided program that is so of each pass, for its part
of every chunk.`, `
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
Whether the program is good was not decided, and nothing undecided is accepted.
In a plan of MSCCL++, and an algorithm at the level of channels, that is first
what depends on time: two blocks that signal one channel, or acquire one
semaphore, where nothing fixes which comes first, or more blocks at a barrier
than it is for. It may go well, and nothing says that it does: give each block a
channel, a semaphore or a barrier of its own. Then loops of which it depends on
their number of turns which turns meet: mscclc run proves the number that it
runs. Last, the stated budget of work, which the message then names: raise it
(--limit work=N). The hint names a value that is enough. The search for races
needs much where thousands of thread blocks wait for each other, or where
messages and not flags order the accesses of many ranks; that in one-sided
programs where blocks of many ranks know much of each other, or where packets
of very many senders are read together. This program is proven as soon as it
may take 2.`, `
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
}

package diag

// ofMSCCLPP are what MSCCL++'s executor does wrong; the language and the verifier know these plans as right.
var ofMSCCLPP = []Explanation{
	{MSCCLPPFlush, `
MSCCL++'s executor runs flush as nothing: it goes through as many channels as
the operation has destinations, and a flush has none. What was put through the
port may still be read when the next operation writes it, though the proof takes
the flush at its word. A put with signal and flush (pwsf) does wait.`, `
$ mscclc verify plan.json   # {"name":"flush","channel_ids":[0],"channel_type":"port"}
`, ""},
	{MSCCLPPGet, `
MSCCL++'s executor swaps the two chunks of a get: it reads the other rank's
buffer where its own is written, and writes where the other's is read. The
result is wrong unless both have one index. A put by the other rank does the
same and is right.`, `
$ mscclc verify plan.json   # {"name":"get","src_buff":[{"buffer_id":0,"index":1,"size":1}],"dst_buff":[{"type":"s","index":0,"size":1}],...}
`, ""},
	{MSCCLPPPut, `
A put of several pairs through memory channels takes the buffer of its first
source for all of them, so that a second source in another buffer sends other
data. As two operations they are right.`, `
$ mscclc verify plan.json   # {"name":"put","src_buff":[{"type":"i",...},{"type":"s",...}],...}
`, ""},
	{MSCCLPPReduce, `
MSCCL++'s executor never reads reduce_op: every reduction is a sum, also where
the plan says min or max.`, `
$ mscclc verify plan.json   # "reduce_op": "max"
`, ""},
	{MSCCLPPSize, `
MSCCL++'s executor keeps offsets and sizes in 32 bits. From 4 GiB on they wrap
without a word, in the buffers or in scratch, which packets and its two halves
make larger than the data. max_message_size should be less; its default is no
bound at all.`, `
$ mscclc verify plan.json   # "max_message_size": 18446744073709551615
`, ""},
	{MSCCLPPGraph, `
The flag of packets is a number that MSCCL++'s host code counts up at each
launch. A captured graph repeats the launch with the number that it had, so
that a replay may take packets of the replay before for its own. No plan with
packets can avoid that: it is for launches that are not captured, or for graphs
whose every slot is written twice a replay.`, `
$ mscclc verify plan.json   # any operation on packets: ppkt, upkt, repkt, ...
`, ""},
	{MSCCLPPDouble, `
With use_double_scratch_buffer launches use the halves of scratch in turn. In
MSCCL++'s executor packets and a rank's own plain accesses do; plain reads and
writes of another rank's scratch, through a port or through a switch always use
the first half. So they miss each other in every second launch.`, `
$ mscclc verify plan.json   # "use_double_scratch_buffer": true, and a put into scratch
`, ""},
	{MSCCLPPScratch, `
Packets need twice the bytes of their data. MSCCL++'s executor makes scratch of
that size where the protocol is LL only, and then they lie beyond its end.`, `
$ mscclc verify plan.json   # "protocol": "Simple", and operations on packets
`, ""},
	{MSCCLPPZero, `
MSCCL++'s executor divides by input_chunks, by output_chunks and by
buffer_alignment. Where one is 0 the process dies.`, `
$ mscclc verify plan.json   # "output_chunks": 0
`, ""},
	{MSCCLPPAlign, `
MSCCL++'s kernels move 16 bytes at once, from addresses that buffer_alignment
alone keeps aligned; what is left of a read and reduce at its end is then taken
from the wrong buffers. buffer_alignment should be a multiple of 16, and so
should a pipeline's unit_size.`, `
$ mscclc verify plan.json   # "buffer_alignment": 4
`, ""},
	{MSCCLPPName, `
MSCCL++'s executor finds what it has set up for a plan by the plan's name: of
two plans that have one name and are not equal, the second runs with channels
and scratch of the first. mscclc lint compares the plans that it is given; those
that mscclc writes have a hash of all that they hold in their names.`, `
$ mscclc lint small.json large.json   # both {"name":"allreduce",...}
`, ""},
	{MSCCLPPPort, `
Through a port MSCCL++'s executor names memory by a number and an offset. For
input and output the offset is from the beginning of the allocation, so that a
tensor which does not begin there sends what is before it; for packets the
number is the first context's, so that another call's buffers are read. What
lies in scratch is found: mscclc copies there what ports are to put, but leaves
it to files that say themselves which thread block does what.`, `
$ mscclc verify plan.json   # {"name":"put","src_buff":[{"type":"i",...}],"channel_type":"port",...}
`, ""},
	{MSCCLPPLoop, `
A pipeline does its operations in turns of unit_size bytes for num_chunks
chunks. In MSCCL++'s executor an operation of fewer chunks underflows and
writes far beyond them, one of more leaves its end out; packets are all moved
in every turn; parts of a group take the wrong bytes; and turns are counted in
16 bits.`, `
$ mscclc verify plan.json   # "num_chunks": 4 around an operation of size 1
`, ""},
	{MSCCLPPReuse, `
With reuse_resources a reduce and send (res) takes the offset of its input from
the buffers of its output in MSCCL++'s executor, which have other chunk sizes
there when one of them is scratch.`, `
$ mscclc verify plan.json   # "reuse_resources": true, and {"name":"res",...}
`, ""},
	{MSCCLPPSemaphore, `
Two blocks acquire one semaphore. In MSCCL++'s executor each takes its one off
before it waits, and a release can then satisfy neither, so that both wait for
ever. Each block needs a semaphore of its own.`, `
$ mscclc verify plan.json   # two blocks with {"name":"sem_acquire","semaphore_ids":[0]}
`, ""},
	{MSCCLPPHalves, `
With use_double_scratch_buffer launches use the halves of scratch in turn.
MSCCL++'s executor finds the upper half of another rank's scratch by the size of
its own: where two ranks have unequal scratch_chunks, packets of every second
launch lie where nobody reads them, and the plan hangs. The upper half must also
begin at a multiple of 16 bytes. It does where scratch_chunks is a multiple of 8
(protocol LL; else of 16), or input_chunks is a power of two and
max_message_size is a multiple of 16 bytes a chunk.

All plans of a process take their turns together: a plan that runs in every
second launch only uses one half for ever, as if it had no double scratch.`, `
{"name":"halves","collective":"allgather","protocol":"LL","inplace":false,"use_double_scratch_buffer":true,"max_message_size":1048576,"gpus":[
  {"id":0,"input_chunks":1,"output_chunks":2,"scratch_chunks":1,
   "threadblocks":[{"id":0,"ops":[
     {"name":"ppkt","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"buffer_id":0,"index":0,"size":1}],"channel_type":"memory"},
     {"name":"copy","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"type":"o","index":0,"size":1}]},
     {"name":"upkt","src_buff":[{"type":"s","index":0,"size":1}],"dst_buff":[{"type":"o","index":1,"size":1}]}],
    "channels":[{"channel_type":"memory","channel_ids":[0]}],
    "remote_buffer_refs":[{"access_channel_type":"memory","remote_buffer_ids":[0]}]}],
   "channels":[{"channel_type":"memory","connected_to":[1]}],
   "remote_buffers":[{"rank":1,"type":"s","access_channel_types":["memory"]}]},
  {"id":1,"input_chunks":1,"output_chunks":2,"scratch_chunks":2,
   "threadblocks":[{"id":0,"ops":[
     {"name":"ppkt","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"buffer_id":0,"index":0,"size":1}],"channel_type":"memory"},
     {"name":"copy","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"type":"o","index":1,"size":1}]},
     {"name":"upkt","src_buff":[{"type":"s","index":0,"size":1}],"dst_buff":[{"type":"o","index":0,"size":1}]}],
    "channels":[{"channel_type":"memory","channel_ids":[0]}],
    "remote_buffer_refs":[{"access_channel_type":"memory","remote_buffer_ids":[0]}]}],
   "channels":[{"channel_type":"memory","connected_to":[0]}],
   "remote_buffers":[{"rank":0,"type":"s","access_channel_types":["memory"]}]}]}
`, ""},
	{MSCCLPPPart, `
In place, the smaller of a rank's buffers is a part of the larger one, and
begins elsewhere in the memory of each rank. MSCCL++'s executor takes the place
of another rank's part to be that of the rank's own. So it reads and writes
other chunks than the plan says. A plan in place names the memory of other ranks
through the larger buffer: output of allgather, input of reducescatter.`, `
{"name":"part","collective":"allgather","protocol":"Simple","inplace":true,"max_message_size":1048576,"gpus":[
  {"id":0,"input_chunks":1,"output_chunks":2,"scratch_chunks":0,
   "threadblocks":[{"id":0,"ops":[
     {"name":"rlxsignal","channel_ids":[0],"channel_type":"memory"},
     {"name":"wait","channel_ids":[0],"channel_type":"memory"}],
    "channels":[{"channel_type":"memory","channel_ids":[0]}],
    "remote_buffer_refs":[]}],
   "channels":[{"channel_type":"memory","connected_to":[1]}],
   "remote_buffers":[]},
  {"id":1,"input_chunks":1,"output_chunks":2,"scratch_chunks":0,
   "threadblocks":[{"id":0,"ops":[
     {"name":"rlxwait","channel_ids":[0],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"get","src_buff":[{"buffer_id":0,"index":0,"size":1}],"dst_buff":[{"type":"o","index":0,"size":1}],"channel_type":"memory"},
     {"name":"put","src_buff":[{"type":"o","index":1,"size":1}],"dst_buff":[{"buffer_id":1,"index":1,"size":1}],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"signal","channel_ids":[0],"channel_type":"memory"}],
    "channels":[{"channel_type":"memory","channel_ids":[0]}],
    "remote_buffer_refs":[{"access_channel_type":"memory","remote_buffer_ids":[0,1]}]}],
   "channels":[{"channel_type":"memory","connected_to":[0]}],
   "remote_buffers":[{"rank":0,"type":"i","access_channel_types":["memory"]},{"rank":0,"type":"o","access_channel_types":["memory"]}]}]}
`, ""},
	{MSCCLPPRoom, `
With reuse_resources MSCCL++'s executor has 64 MiB of scratch for all plans, or
half of that with double scratch. A chunk has the room of that divided by
scratch_chunks. Where chunks are longer, operations write over the next chunk;
in a pipeline the executor wraps, and iterations use scratch again that nobody
has said is free. max_message_size must be a size for which all chunks of a
pipeline have room, and all ranks must have equal scratch_chunks.`, `
{"name":"room","collective":"allgather","protocol":"Simple","inplace":false,"reuse_resources":true,"max_message_size":1073741824,"gpus":[
  {"id":0,"input_chunks":1,"output_chunks":2,"scratch_chunks":1,
   "threadblocks":[{"id":0,"ops":[
     {"name":"rlxsignal","channel_ids":[0],"channel_type":"memory"},
     {"name":"rlxwait","channel_ids":[0],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"put","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"buffer_id":0,"index":0,"size":1}],"channel_type":"memory"},
     {"name":"copy","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"type":"o","index":0,"size":1}]},
     {"name":"nop"},
     {"name":"signal","channel_ids":[0],"channel_type":"memory"},
     {"name":"wait","channel_ids":[0],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"copy","src_buff":[{"type":"s","index":0,"size":1}],"dst_buff":[{"type":"o","index":1,"size":1}]}],
    "channels":[{"channel_type":"memory","channel_ids":[0]}],
    "remote_buffer_refs":[{"access_channel_type":"memory","remote_buffer_ids":[0]}]}],
   "channels":[{"channel_type":"memory","connected_to":[1]}],
   "remote_buffers":[{"rank":1,"type":"s","access_channel_types":["memory"]}]},
  {"id":1,"input_chunks":1,"output_chunks":2,"scratch_chunks":1,
   "threadblocks":[{"id":0,"ops":[
     {"name":"rlxsignal","channel_ids":[0],"channel_type":"memory"},
     {"name":"rlxwait","channel_ids":[0],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"put","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"buffer_id":0,"index":0,"size":1}],"channel_type":"memory"},
     {"name":"copy","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"type":"o","index":1,"size":1}]},
     {"name":"nop"},
     {"name":"signal","channel_ids":[0],"channel_type":"memory"},
     {"name":"wait","channel_ids":[0],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"copy","src_buff":[{"type":"s","index":0,"size":1}],"dst_buff":[{"type":"o","index":0,"size":1}]}],
    "channels":[{"channel_type":"memory","channel_ids":[0]}],
    "remote_buffer_refs":[{"access_channel_type":"memory","remote_buffer_ids":[0]}]}],
   "channels":[{"channel_type":"memory","connected_to":[0]}],
   "remote_buffers":[{"rank":0,"type":"s","access_channel_types":["memory"]}]}]}
`, ""},
	{MSCCLPPThreads, `
MSCCL++ gives each channel of a signal or a wait, each semaphore, and each put
through a port a thread of its own. Where a block has fewer threads, the others
are never signalled or awaited. num_threads_per_block must be at least the
number of channels or semaphores of any operation; 1024 is usual.`, `
{"name":"threads","collective":"allgather","protocol":"Simple","inplace":true,"num_threads_per_block":1,"max_message_size":1048576,"gpus":[
  {"id":0,"input_chunks":1,"output_chunks":2,"scratch_chunks":0,
   "threadblocks":[{"id":0,"ops":[
     {"name":"rlxsignal","channel_ids":[0,1],"channel_type":"memory"},
     {"name":"rlxwait","channel_ids":[0,1],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"put","src_buff":[{"type":"o","index":0,"size":1}],"dst_buff":[{"buffer_id":0,"index":0,"size":1}],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"signal","channel_ids":[0],"channel_type":"memory"},
     {"name":"wait","channel_ids":[0],"channel_type":"memory"}],
    "channels":[{"channel_type":"memory","channel_ids":[0,1]}],
    "remote_buffer_refs":[{"access_channel_type":"memory","remote_buffer_ids":[0]}]}],
   "channels":[{"channel_type":"memory","connected_to":[1,1]}],
   "remote_buffers":[{"rank":1,"type":"o","access_channel_types":["memory"]}]},
  {"id":1,"input_chunks":1,"output_chunks":2,"scratch_chunks":0,
   "threadblocks":[{"id":0,"ops":[
     {"name":"rlxsignal","channel_ids":[0,1],"channel_type":"memory"},
     {"name":"rlxwait","channel_ids":[0,1],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"put","src_buff":[{"type":"o","index":1,"size":1}],"dst_buff":[{"buffer_id":0,"index":1,"size":1}],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"signal","channel_ids":[0],"channel_type":"memory"},
     {"name":"wait","channel_ids":[0],"channel_type":"memory"}],
    "channels":[{"channel_type":"memory","channel_ids":[0,1]}],
    "remote_buffer_refs":[{"access_channel_type":"memory","remote_buffer_ids":[0]}]}],
   "channels":[{"channel_type":"memory","connected_to":[0,0]}],
   "remote_buffers":[{"rank":0,"type":"o","access_channel_types":["memory"]}]}]}
`, ""},
	{MSCCLPPFirst, `
With reuse_resources MSCCL++'s executor exchanges the addresses of buffers once
for a plan, in its first call. Input and output of other ranks are those of that
call in all later calls. Only scratch of other ranks can be named, unless all
calls have the same buffers.`, `
{"name":"first","collective":"allgather","protocol":"Simple","inplace":true,"reuse_resources":true,"max_message_size":1048576,"gpus":[
  {"id":0,"input_chunks":1,"output_chunks":2,"scratch_chunks":0,
   "threadblocks":[{"id":0,"ops":[
     {"name":"rlxsignal","channel_ids":[0],"channel_type":"memory"},
     {"name":"rlxwait","channel_ids":[0],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"put","src_buff":[{"type":"o","index":0,"size":1}],"dst_buff":[{"buffer_id":0,"index":0,"size":1}],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"signal","channel_ids":[0],"channel_type":"memory"},
     {"name":"wait","channel_ids":[0],"channel_type":"memory"}],
    "channels":[{"channel_type":"memory","channel_ids":[0]}],
    "remote_buffer_refs":[{"access_channel_type":"memory","remote_buffer_ids":[0]}]}],
   "channels":[{"channel_type":"memory","connected_to":[1]}],
   "remote_buffers":[{"rank":1,"type":"o","access_channel_types":["memory"]}]},
  {"id":1,"input_chunks":1,"output_chunks":2,"scratch_chunks":0,
   "threadblocks":[{"id":0,"ops":[
     {"name":"rlxsignal","channel_ids":[0],"channel_type":"memory"},
     {"name":"rlxwait","channel_ids":[0],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"put","src_buff":[{"type":"o","index":1,"size":1}],"dst_buff":[{"buffer_id":0,"index":1,"size":1}],"channel_type":"memory"},
     {"name":"nop"},
     {"name":"signal","channel_ids":[0],"channel_type":"memory"},
     {"name":"wait","channel_ids":[0],"channel_type":"memory"}],
    "channels":[{"channel_type":"memory","channel_ids":[0]}],
    "remote_buffer_refs":[{"access_channel_type":"memory","remote_buffer_ids":[0]}]}],
   "channels":[{"channel_type":"memory","connected_to":[0]}],
   "remote_buffers":[{"rank":0,"type":"o","access_channel_types":["memory"]}]}]}
`, ""},
}

package diag

// ofMSCCLPP are what MSCCL++'s executor does wrong with execution plans that follow MSCCL++'s own rules.
var ofMSCCLPP = []Explanation{
	{
		Code: MSCCLPPFlush,
		Means: `
A flush does nothing in MSCCL++'s executor. It visits as many channels as the operation has destinations, and a flush
has none.`,
		Why: `
The port may still read the source of a put when the next operation overwrites it. The proof assumes that flush works.`,
		Fix: `
Use a put with signal and flush (pwsf), which does wait.`,
	},
	{
		Code: MSCCLPPGet,
		Means: `
MSCCL++'s executor swaps the two chunk indices of a get. It reads the other rank's buffer at the index where its own
buffer is written, and writes at the index where the other is read.`,
		Why: `
The result is wrong unless both ends have the same index.`,
		Fix: `
Let the other rank put the chunk, or use one index at both ends.`,
	},
	{
		Code: MSCCLPPPut,
		Means: `
A put through memory channels has sources in several buffers. MSCCL++'s executor uses the buffer of the first source
for all of them.`,
		Why: `
The later pairs send wrong data.`,
		Fix: `
Split the put: one operation for each source buffer.`,
	},
	{
		Code: MSCCLPPReduce,
		Means: `
MSCCL++'s executor only sums, and the plan asks for another reduction. The executor never reads reduce_op.`,
		Why: `
The result is a sum, also if the plan says min or max.`,
		Fix: `
Use MSCCL++ only for sums.`,
	},
	{
		Code: MSCCLPPSize,
		Means: `
The execution plan allows messages or scratch of 4 GiB or more. MSCCL++'s executor keeps offsets and sizes in 32 bits.
Packets, and double scratch, make scratch larger than the data. The warning of mscclc compile says that the plan
is for fewer sizes than the file, because the executor does not run the others right.`,
		Why: `
From 4 GiB on the offsets overflow silently, and operations access wrong memory.`,
		Fix: `
Set max_message_size to a smaller value. A plan without this key has no bound.`,
	},
	{
		Code: MSCCLPPGraph,
		Means: `
The execution plan uses packets, and it is not safe in a captured CUDA graph. MSCCL++'s host code increments the flag
of packets at each launch, and a captured graph repeats one flag.`,
		Why: `
A replay can take the packets of the replay before it for its own.`,
		Fix: `
Launch the plan without graph capture, or ignore this warning (lint --ignore mscclpp-graph) if you do. No plan with
packets avoids it. A plan with protocol Simple has no packets.`,
	},
	{
		Code: MSCCLPPDouble,
		Means: `
An operation always uses the first half of double scratch. With double scratch (use_double_scratch_buffer) launches
alternate between the halves. The operation accesses scratch as plain data through a port, a switch or from another
rank.`,
		Why: `
In MSCCL++'s executor such an access always uses the first half. Packets, and a rank's plain accesses to its own
scratch, use the right half. In every second launch these are different halves.`,
		Fix: `
Send packets there, or turn double scratch off.`,
	},
	{
		Code: MSCCLPPScratch,
		Means: `
The execution plan has packets, and its protocol is not LL. Packets need twice the bytes of their data.`,
		Why: `
MSCCL++'s executor makes room for packets only if the protocol is LL. With another protocol they lie beyond the end of
scratch.`,
		Fix: `
Set "protocol": "LL".`,
		Command: "lint - --ignore mscclpp-graph",
	},
	{
		Code: MSCCLPPZero,
		Means: `
MSCCL++'s executor divides by a number that is 0. The number is input_chunks, output_chunks or buffer_alignment.`,
		Why: `
The process dies with a division by zero in the first call, so such a plan is rejected.`,
		Fix: `
Set the number to 1 or more, also for a buffer that the rank does not use.`,
	},
	{
		Code: MSCCLPPAlign,
		Means: `
An alignment is not a multiple of 16 bytes. It is buffer_alignment, or the unit_size of a pipeline.`,
		Why: `
MSCCL++'s kernels move 16 bytes at once and align addresses only by buffer_alignment. With another value, a reduction
takes its last elements from wrong buffers.`,
		Fix: `
Use a multiple of 16.`,
	},
	{
		Code: MSCCLPPName,
		Means: `
Two execution plans have the same name and are not equal.`,
		Why: `
MSCCL++'s executor finds what it has set up for a plan by the plan's name. The second plan runs with the channels and
the scratch of the first.`,
		Fix: `
Give each plan its own name. Plans that mscclc writes have a hash of their content in their names.`,
		Before:  "mscclc explain mscclpp-part --example > part.json",
		Command: "lint part.json - --ignore mscclpp-part",
	},
	{
		Code: MSCCLPPPort,
		Means: `
A put through a port reads input or output, or it sends packets. MSCCL++'s executor names memory for a port by a
number and an offset.`,
		Why: `
For input and output, the executor counts the offset from the start of the allocation, so a tensor that starts later
in it sends other data. For packets, the number is that of the first context, so a later call reads the first one's
buffers.`,
		Fix: `
Copy the data to scratch and put it from there. mscclc does this itself, except in files that name their thread
blocks.`,
	},
	{
		Code: MSCCLPPLoop,
		Means: `
An operation does not fit its pipeline. A pipeline goes through num_chunks chunks in loop iterations of unit_size
bytes.`,
		Why: `
In MSCCL++'s executor, an operation with fewer chunks writes far beyond them, and one with more omits its end. Packets
are moved completely in every loop iteration, parts of a thread block group take wrong bytes, and iterations are
counted in 16 bits.`,
		Fix: `
Give all operations of the pipeline num_chunks chunks, without packets and groups. Raise unit_size, or lower
max_message_size, so that there are at most 65535 loop iterations. This example has 65536.`,
	},
	{
		Code: MSCCLPPReuse,
		Means: `
The execution plan has reuse_resources and a reduce and send (res). MSCCL++'s executor then computes the offset of its
input with the buffers of its output.`,
		Why: `
If one of these buffers is scratch, their chunks have different sizes, so the operation reads wrong data.`,
		Fix: `
Use a reduction and a put instead, or turn reuse_resources off.`,
	},
	{
		Code: MSCCLPPSemaphore,
		Means: `
Two thread blocks acquire one semaphore.`,
		Why: `
In MSCCL++'s executor each block subtracts one before it waits. A release can then wake neither of them, and both wait
forever.`,
		Fix: `
Give each block its own semaphore.`,
	},
	{
		Code: MSCCLPPHalves,
		Means: `
The upper half of double scratch starts at a wrong address. Ranks disagree about where it starts, or it is not aligned
to 16 bytes. Double scratch is use_double_scratch_buffer. MSCCL++'s executor finds the upper half of another rank's
scratch by the size of its own.`,
		Why: `
If two ranks have different scratch_chunks, the packets of every second launch go where no rank reads them, and the
plan hangs. All execution plans of a process alternate together: one that runs in every second launch always uses the
same half.`,
		Fix: `
Give all ranks the same scratch_chunks. Use a multiple of 8 for protocol LL, or of 16 for others. An alternative is a
power of two for input_chunks, and a max_message_size of a multiple of 16 bytes a chunk.`,
		Command: "lint - --ignore mscclpp-graph",
	},
	{
		Code: MSCCLPPPart,
		Means: `
An in-place plan names memory of another rank through the smaller buffer. In place, the smaller buffer is a part of
the larger one, at a different offset on each rank.`,
		Why: `
MSCCL++'s executor uses its own rank's offset for the other rank, so it reads and writes other chunks than the plan
says.`,
		Fix: `
Name the memory of other ranks through the larger buffer: output for allgather, input for reducescatter.`,
	},
	{
		Code: MSCCLPPRoom,
		Means: `
With reuse_resources, messages can be too large for the scratch. MSCCL++'s executor has 64 MiB of scratch for all such
plans, or 32 MiB with double scratch. Each chunk has that size divided by scratch_chunks.`,
		Why: `
Longer chunks overwrite the next chunk. In a pipeline, loop iterations reuse scratch that may still be in use.`,
		Fix: `
Set max_message_size so that all chunks fit; the message names the largest size. Give all ranks the same
scratch_chunks.`,
	},
	{
		Code: MSCCLPPThreads,
		Means: `
A block has fewer threads than an operation has channels or semaphores. MSCCL++ uses one thread for each channel of a
signal or a wait, for each semaphore, and for each put through a port.`,
		Why: `
The executor skips the channels that have no thread, so it never signals them or waits for them.`,
		Fix: `
Set num_threads_per_block to at least the number that the message names. 1024 is usual.`,
		Command: "lint - --ignore lint-threads",
	},
	{
		Code: MSCCLPPFirst,
		Means: `
The execution plan has reuse_resources and names input or output of other ranks.`,
		Why: `
MSCCL++'s executor exchanges buffer addresses once for such a plan, in its first call. All later calls access the
buffers of the first.`,
		Fix: `
Name only scratch of other ranks, turn reuse_resources off, or use the same buffers in all calls.`,
	},
	{
		Code: MSCCLPPKey,
		Means: `
The execution plan has a key that MSCCL++'s executor does not know, and ignores.`,
		Why: `
What the key says has no effect. It may be a key of a newer MSCCL++, a note, or a misspelt key.`,
		Fix: `
Remove the key, or spell it as the executor does. mscclc verify --strict rejects such plans.`,
	},
}

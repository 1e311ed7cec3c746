package diag

// ofPrograms are the codes of programs, as ir/verify rejects them.
var ofPrograms = []Explanation{
	{
		Code: Malformed,
		Means: `
The file does not follow its format. In XML an attribute is missing or unreadable, thread blocks or steps are not
numbered 0, 1, 2 and so on, or two blocks share one end of a connection. In a program file, a one-sided step has an
operand or a mark that it cannot have. In a table (bench --table), a field is unknown, missing, repeated or out of
range.`,
		Why: `
The runtimes check little of this, so such a file would hang or corrupt memory there. For example, MSCCL-IR's runtimes
fuse consecutive reductions into one chunk, and need equal counts in all of them.`,
		Fix: `
Correct the line that the message names, or regenerate the file with the tool that wrote it.`,
	},
	{
		Code: Limit,
		Means: `
Something is larger than a limit allows. The limit belongs to a target, such as the steps of a thread block, or it is
one of mscclc's own budgets for the work that one file may cause.`,
		Why: `
A runtime cannot load what is beyond its limits. Without budgets, a small file could use all memory or never end.`,
		Fix: `
Read the name of the limit in the message. Raise a budget of mscclc with --limit NAME=N. For a limit of a target, use
fewer ranks, chunks or instances, more channels, or --target program, which has no limits.`,
	},
	{
		Code: OutOfBounds,
		Means: `
The program names a rank beyond the last, or a chunk beyond its buffer. The collective gives each buffer its length,
which can differ from rank to rank: only the root of a broadcast has input. A count reaches up to index + count - 1.`,
		Why: `
The access would read or write memory that belongs to something else.`,
		Fix: `
Compare the index and the count with the length that the message names. Indices count from 0. A step of a one-sided
program is measured with the buffers of the rank that it names.`,
	},
	{
		Code: Unmatched,
		Means: `
A send has no receive, a receive has no send, or their counts differ. The n-th send of a connection (channel, source,
destination) pairs with the n-th receive. In a one-sided program, packets are sent and never read, or read and never
sent, or a block waits for a signal that no block gives.`,
		Why: `
The run would hang, or the data that is left over would be taken by the next launch.`,
		Fix: `
Give every send one receive with the same count on the same channel, in the same order. Programs that mscclc compiles
match by construction.`,
	},
	{
		Code: Deadlock,
		Means: `
Steps wait for each other in a cycle. A step waits for the step before it in its thread block, a receive waits for its
message, and a step with depid waits for that block's step. A send waits for a free slot of its connection: 2 messages
are in flight for Simple, and 8 for protocols of packets. In a one-sided program only waits and reads of packets wait.`,
		Why: `
The program hangs, perhaps only above some size. Large chunks are split into several messages, so a program that works
for small calls can fill all slots in large ones. The message then names that size.`,
		Fix: `
Follow the notes, which list a shortest cycle of waits, and break one of them: change the order of two steps, or put
them in different thread blocks. In this example both ranks receive before they send, so one of them must send first.`,
	},
	{
		Code: Race,
		Means: `
Nothing orders two accesses to one chunk, of which at least one is a write. They come from two thread blocks. The
order of a block's steps, waits (depid, deps, hasdep) and messages give an order. A Simple message makes visible
everything that its sender wrote before; an LL or LL128 message makes visible only the data that it carries.`,
		Why: `
The result depends on timing, so it can be wrong on one run and right on the next. In one-sided programs blocks of
different ranks can race. Scratch and packets are reused every few tile iterations, and must have been read by then.
Other ranks may access a rank's input and output only during its launch.`,
		Fix: `
Add a wait from the later step to the earlier one. In an execution plan of MSCCL++ the usual cause is a missing nop.
Put one after a wait, before a signal, and between two operations where one writes what the other accesses. A relaxed
signal makes no write visible, so use a plain signal after writes. Scratch of another rank is written again in the next
launch, so that rank must say that it has read it. In .mscl let both ranks begin with c.signal(tb = 0, relaxed = true)
and c.wait(tb = 0, relaxed = true).`,
	},
	{
		Code: AcrossNodes, Command: "verify --nodes 2 -",
		Means: `
A step touches data of another node that may not have arrived. Ranks write memory of their own node only. A network
carries what a thread block has written into scratch of another node, with the block's next signal to that rank.`,
		Why: `
Messages of two thread blocks travel apart. A writes to R and tells B, and B tells R: then R may read before the data
of A arrives. Reads, packets, ports and the switch do not reach another node at all.`,
		Fix: `
Have the writer signal a flag of the written rank after its write, and await that flag there before the access. In
this example rank 0 tells only rank 1. Programs compiled with --sided lowered keep to the rule, and those of
--sided one with --nodes.`,
	},
	{
		Code: Uninitialized,
		Means: `
A chunk is read before anything writes it. Only input holds data at the start. In a one-sided program scratch holds
nothing at the start of each tile iteration.`,
		Why: `
The read returns whatever the memory held before, so the result is random.`,
		Fix: `
Write the chunk first, or read the chunk that you meant. The message names the step and the chunk.`,
	},
	{
		Code: WrongResult,
		Means: `
At the end, an output chunk does not hold what the collective demands. A part is missing, is added twice, or does not
belong there. The message describes the first such chunk; in[r][i] is chunk i of the input of rank r.`,
		Why: `
The collective would return wrong numbers, on every run.`,
		Fix: `
Read the notes: they say what the chunk should hold, which step wrote it last, and how many other chunks are wrong. In
this example rank 0 never receives the sum, so rank 1 must send it back.`,
	},
	{
		Code: Uneven,
		Means: `
One step has chunks of different lengths. If a call's bytes do not divide by the number of chunks, the last chunks
of a buffer are shorter. Only chunks with the same position in their buffers (the same class) have the same length.`,
		Why: `
The step would copy or add too many elements, or too few.`,
		Fix: `
Use operands of one class, or set "even": true in the program file. The program then promises to run only with sizes
that divide by its chunks, as MSCCL-IR's runtimes demand.`,
	},
	{
		Code: NotFinal,
		Means: `
A step's mark for a complete sum is wrong. The mark is "final" in a program file. It is missing on a step that makes a
complete sum, or it is on another step.`,
		Why: `
An average divides at the marked steps. With a wrong mark it would divide twice or not at all.`,
		Fix: `
Mark exactly the steps that complete a sum. XML has no such marks; mscclc derives them when it reads XML.`,
	},
	{
		Code: Finished,
		Means: `
A step mixes finished rows and raw sums. In a program with an epilogue, rows of a complete sum go through its stages on
their way to the output. So the output holds finished rows, and all other memory holds sums. The step adds finished
rows, copies them elsewhere, or writes a chunk of the output that another step wrote. Or a then has no effect: it comes
a second time on a value, something other than a copy to the output uses what it returns, or nothing does.`,
		Why: `
The epilogue would run twice on a row, or on a part of a sum, or not at all. The result would be wrong, and so would the
updated residual.`,
		Fix: `
Add up in scratch. Copy the complete sum to the output once: sum.then(rms_norm(eps)).copy(rank, output, index). From
there, copy finished rows only to the output of other ranks.`,
	},
	{
		Code: Undecided,
		Means: `
mscclc could not decide whether the program is right. The proof may need more than its budget of work, which the
message then names. Or the answer depends on timing, or on the number of loop iterations of a pipeline. In an
execution plan, timing decides when two blocks signal one channel or acquire one semaphore and nothing orders them.`,
		Why: `
The program may be right, but mscclc accepts only what it has proven.`,
		Fix: `
Where the budget is too small, raise it with --limit work=N; the hint names a value that is enough. Where timing
decides, no limit helps: give each block its own channel, semaphore or barrier. For pipelines, mscclc run proves the
number of loop iterations that it runs. In this example timing decides: two blocks signal one channel. It is proven if
the second signal has tb = 0.`,
	},
}

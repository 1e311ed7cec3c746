package diag

// ofLint are what is slow or fragile in an execution plan of MSCCL++ that is right.
var ofLint = []Explanation{
	{
		Code: LintMeet,
		Means: `
A nop is not needed. A nop is a block barrier: all threads of a block wait for each other. It is needed around signals
and waits, and between an operation and another one that depends on it.`,
		Why: `
An unneeded block barrier takes time and orders nothing.`,
		Fix: `
Remove the nop. In this example the second of two nops in a row does nothing.`,
	},
	{
		Code: LintFuse,
		Means: `
Two operations could be one. Signals, or waits, on several channels can be one operation with up to eight channels.
Puts of equal length from one buffer can be one put. A sum that is sent on directly after can be one operation (res,
rres).`,
		Why: `
The executor interprets one operation after the other. One put with several pairs has all of them in flight at once.`,
		Fix: `
Merge the two operations that the message names.`,
	},
	{
		Code: LintCopy,
		Means: `
A copy has the same chunk as source and destination.`,
		Why: `
It changes nothing, and takes as much time as any other copy.`,
		Fix: `
Remove the copy.`,
	},
	{
		Code: LintFence,
		Means: `
A signal could be a relaxed one. A plain signal is a release: it waits until other GPUs can see what the block wrote.
At the start of a launch the block has written nothing yet.`,
		Why: `
The release takes time, and has nothing to release here.`,
		Fix: `
Replace this signal by rlxsignal.`,
	},
	{
		Code: LintIdle,
		Means: `
Thread blocks are idle while others work. A block has no operations, or one block moves far more data than the others.`,
		Why: `
Every block of a rank occupies a multiprocessor until the last one ends, so most of the GPU waits.`,
		Fix: `
Remove blocks without operations. Split the work evenly, for example with a thread block group (tbg_info).`,
	},
	{
		Code: LintUnused,
		Means: `
No operation uses a channel, a semaphore or scratch that the plan declares.`,
		Why: `
MSCCL++ connects and allocates all of it for every context in which the plan runs, which costs memory and start-up
time.`,
		Fix: `
Remove the declaration. It is often left over from an earlier version of the plan.`,
	},
	{
		Code: LintResident,
		Means: `
More thread blocks wait for each other than a common GPU runs at once. They wait at barriers or semaphores. An A100
has 108 multiprocessors.`,
		Why: `
MSCCL++ does not check that the GPU runs all blocks at once. If it does not, the running blocks wait forever for
blocks that cannot start.`,
		Fix: `
Use fewer thread blocks, or run the plan only on GPUs with enough multiprocessors.`,
		Command: "compile - --target mscclpp | mscclc lint -",
	},
	{
		Code: LintThreads,
		Means: `
The number of threads of a block is not a multiple of 32. Threads run in warps of 32, or 64 on AMD GPUs.`,
		Why: `
Some threads of the last warp do nothing.`,
		Fix: `
Set num_threads_per_block to a multiple of 32, or of 64 for AMD GPUs.`,
	},
}

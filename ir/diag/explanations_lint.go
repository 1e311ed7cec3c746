package diag

// ofLint are what is slow or fragile in a plan of MSCCL++ that is right.
var ofLint = []Explanation{
	{LintMeet, `
A nop has all threads of a block wait for each other. It is needed between an
operation and one that depends on it, and round signals and waits; where
nothing depends on anything, or the threads have just met, it only takes time.`, `
$ mscclc lint plan.json   # {"name":"nop"},{"name":"nop"}
`, ""},
	{LintFuse, `
Each operation is a turn of the executor's interpreter. Signals, and waits, on
several channels can be one operation of up to eight; so can puts of equal
length out of one buffer, which are then under way at once; and a sum that is
put elsewhere right behind is sent as it is made (res, rres).`, `
$ mscclc lint plan.json   # {"name":"signal","channel_ids":[0],...},{"name":"signal","channel_ids":[1],...}
`, ""},
	{LintCopy, `
A copy of a chunk to where it lies changes nothing, and takes the time of one.`, `
$ mscclc lint plan.json   # {"name":"copy","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"type":"i","index":0,"size":1}]}
`, ""},
	{LintFence, `
A signal is a release: it waits until what the block wrote can be seen by all.
One at the begin of a launch, which says that a buffer may be written, has
nothing to release, and a relaxed one (rlxsignal) does.`, `
$ mscclc lint plan.json   # "ops":[{"name":"signal",...}]
`, ""},
	{LintIdle, `
All blocks of a rank hold a multiprocessor until the last is done. Blocks
without operations, or one that moves far more than the others, leave most of
the GPU idle; a thread block group shares the work out evenly.`, `
$ mscclc lint plan.json   # {"id":1,"ops":[],...}
`, ""},
	{LintUnused, `
Channels are connected, semaphores and scratch allocated, for every context
that a plan is run in. Some that no operation uses cost memory and time, and
are often left from a change.`, `
$ mscclc lint plan.json   # "scratch_chunks": 8, and no operand of type "s"
`, ""},
	{LintResident, `
Barriers and semaphores have blocks of a rank wait for each other. MSCCL++
starts them as any kernel, and does not ask whether the GPU runs all at once:
on one that does not, those that run wait for those that cannot begin, without
end. 108 multiprocessors are an A100's.`, `
$ mscclc lint plan.json   # 120 thread blocks with a barrier
`, ""},
	{LintThreads, `
Threads run in bundles of 32, or 64 on AMD's GPUs. Blocks of any other number
have a last bundle some of whose threads do nothing.`, `
$ mscclc lint plan.json   # "num_threads_per_block": 1000
`, ""},
}

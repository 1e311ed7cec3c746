// Package bench measures collectives of mscclc and of NCCL, as nccl-tests does. Both use the same buffers and the same
// stream, in turn. An operation ([Op]) is a call of a collective, by a program of mscclc or by NCCL. A replay is N
// launches of an operation, in a graph or one by one. The time of a replay is the time of these launches on the slowest
// rank, divided by N. A result is the median of several replays.
//
// A [Site] is what ranks run on: [Host] (any executor.Device that ends each run before the next begins) or [GPUs]
// (streams and graphs). A [Form] is a variant (selection.Choice) with its compiled program. A Site makes operations
// from Forms and from calls of NCCL. It fills buffers with random data, measures several operations alternately, and
// checks their results.
//
// [Job.Run] measures a list of sizes, and adds a row for each to a [Report]. A Report can be written as the rows of
// nccl-tests, as JSON with more fields, and as a drawing. [Search.Tune] measures the Forms of one call, and returns
// them with their times, the fastest first.
package bench

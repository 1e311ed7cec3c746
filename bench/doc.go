// Package bench measures collectives of mscclc and of NCCL, as nccl-tests does. Both use the same buffers and the same
// stream, in turn. A replay launches an operation N times. Its time is the time of these launches on the slowest rank,
// divided by N. A result is the median of several replays.
//
// A Site is what ranks run on: Host (any executor.Device that ends each run before the next begins) or GPUs (streams
// and graphs). A Form is a program with its selection.Choice: how it was compiled, and how it is launched. A Site makes
// an operation from a Form, or from a call of NCCL. It fills buffers with random data, checks results, and measures
// several operations alternately.
//
// [Job.Run] measures a list of sizes, and adds a row for each to a [Report]. A Report can be written as the rows of
// nccl-tests, as JSON with more fields, and as a drawing. [Search.Tune] measures the Forms of one call, and returns
// them with their times, the fastest first.
package bench

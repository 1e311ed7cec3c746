// Package bench measures collectives of mscclc and of NCCL as nccl-tests does. Both use the same buffers and the same
// queue, one after the other. A result is the median of several replays, and the slowest rank counts in each replay.
//
// A Site is what ranks run on: Host (any executor.Device that ends each run before the next begins) or GPUs (streams
// and graphs). A Site makes an operation from a Form, which is a program with its number of CTAs, or from NCCL. It
// fills buffers with random data, checks results, and measures several operations alternately. Run measures a list of
// sizes, and Tune searches forms. Both return a Report, which can be written as the rows of nccl-tests, as its JSON
// with more fields, and as a drawing.
package bench

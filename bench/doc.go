// Package bench measures collectives as nccl-tests does, ours and NCCL's beside
// it: the same buffers, one after the other in the same queue, the median of
// several replays, and of each the slowest rank.
//
// A Site is what ranks run on: Host (any executor.Device whose runs end before the
// next begins) or GPUs (streams and graphs). It makes operations of Forms, which
// are programs with their width, or of NCCL, places random data, checks what came
// out, and measures several operations in turn. Run goes through sizes, and Tune
// through forms. A Report is what they found: nccl-tests' rows, its JSON with
// ours added, and a drawing.
package bench

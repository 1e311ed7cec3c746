// Package bound computes how fast a collective can be on a topology, and what limits it.
//
// # Where to begin
//
// [Of] answers a [Question] with a [Bound]: a rate that no algorithm exceeds, and the cut that proves this.
// [Bound.Micros] is the least time of a call.
//
// # What the bounds say
//
// The model is that of package simulate without latencies. A link moves data at its bandwidth in each direction. GPUs
// copy, add and forward the data that they have. NICs and switches forward data. A cut is a set of vertices. The data
// that must leave the set passes the links out of the set. This takes at least its bytes divided by the sum of their
// bandwidths.
//
//   - AllGather, ReduceScatter, Broadcast, Reduce, Gather, Scatter: the worst cut, found by maximum flows in whole
//     numbers. No algorithm is faster. If the topology has no switches, trees reach this rate (Edmonds), and
//     paths for Gather and Scatter.
//   - AllReduce: a linear program over all cuts, and over all divisions of links between reducing and spreading. It
//     bounds the algorithms that reduce each element to one rank and then spread the result from there.
//   - AllToAll: maximum concurrent flow, by its dual, in which each link has a length l. A flow of rate r over a path
//     of length d takes the capacity r×d. The capacity of all links together is Σ b×l, with bandwidths b. So the rate
//     of a pair is at most Σ b×l divided by the sum of the distances of all pairs (Shahrokhi, Matula).
//
// The linear programs are solved in floating point. Then two rates are computed from this solution in exact arithmetic:
// the bound, which the dual values prove, and Reached, which the primal values reach. If Exact is set, Reached is
// within a millionth of the bound. This difference comes from the rounding of the floating-point solution.
//
// Symmetries of the topology make this fast on large machines. Each symmetry is verified link by link. A symmetry that
// is not found costs time and nothing else.
package bound

// Package bound computes how fast a collective can be on a topology, and what limits it.
//
// # Where to begin
//
// [Of] answers a [Question]: a [Bound] is a rate that no algorithm exceeds, and the cut that proves it. [Bound.Micros]
// is the least time of a call.
//
// # What the bounds say
//
// The model is that of package simulate without its latencies: a link moves its bandwidth in each direction, GPUs copy,
// add and forward what they have, and NICs and switches forward. A cut is a set of vertices. What must leave the set
// passes its links, which takes at least the bytes over the sum of their bandwidths.
//
//   - AllGather, ReduceScatter, Broadcast, Reduce, Gather, Scatter: the worst cut, found by maximum flows in whole
//     numbers. No algorithm is faster, and without switches trees or paths reach the rate (Edmonds).
//   - AllReduce: a linear program over all cuts and all divisions of links between reducing and spreading. No algorithm
//     is faster that reduces each element to a rank and spreads it from there.
//   - AllToAll: maximum concurrent flow, by its dual: lengths of links. Of links with bandwidths b and any lengths l,
//     all data on its way takes up Σ b×l at most. So the rate of a pair is at most that over the sum of the distances
//     of all pairs (Shahrokhi, Matula).
//
// The linear programs are solved in floating point. What is returned is proven in exact arithmetic from their dual
// values, and Reached is the rate that their primal values reach, in exact arithmetic too. Exact says that both are
// equal.
//
// Symmetries of the topology make this fast on large machines. Each is verified link by link, so that one that is
// missed costs time and nothing else.
package bound

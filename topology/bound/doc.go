// Package bound computes how fast a collective can be on a topology, and what limits it.
//
// # Where to begin
//
// [Of] answers a [Question] with a [Bound]: an upper bound of the rate, and its proof, which is a cut or lengths of
// links (see AllToAll). For AllReduce, the bound is for the algorithms described below. [Bound.Micros] is the least
// time of a call.
//
// # What the bounds say
//
// The model is that of package simulate without latencies. A link moves data at its bandwidth in each direction. GPUs
// copy, add and forward the data that they have. NICs and switches forward data. A cut is a set of vertices. The data
// that must leave the set passes over the links that lead out of the set. The time for this is at least the bytes of
// the data divided by the sum of the bandwidths of these links.
//
//   - AllGather, ReduceScatter, Broadcast, Reduce, Gather, Scatter: the bound is that of the worst cut, found by
//     maximum flows in whole numbers. No algorithm is faster. If the topology has no switches, some algorithm reaches
//     this rate: paths for Gather and Scatter, and trees for the others (Edmonds).
//   - AllReduce: the bound is for the algorithms that reduce each element to one rank and then spread the result from
//     there. In such an algorithm, each link spends a part of its bandwidth on reducing, and the rest on spreading. A
//     linear program over all cuts finds the best such parts.
//   - AllToAll: maximum concurrent flow, by its dual. The dual gives each link a length l; let b be the bandwidth of
//     the link. All links together offer Σ b×l. A flow of rate r between two ranks uses at least r×d of Σ b×l, where d
//     is their distance. So if all pairs of ranks have one rate, this rate is at most Σ b×l divided by the sum of the
//     distances of all pairs (Shahrokhi, Matula). The dual searches the lengths that give the lowest bound.
//
// The linear programs are solved in floating point. Then two rates are computed from this solution in exact arithmetic.
// The bound follows from the dual values. The field Reached is a rate that some algorithm reaches: it follows from the
// primal values. If the field Exact is set, Reached is within a millionth of the bound: only rounding separates them.
//
// Symmetries of the topology make this fast on large machines. Each symmetry is verified link by link. If a symmetry is
// not found, the computation takes longer, and the result is the same.
package bound

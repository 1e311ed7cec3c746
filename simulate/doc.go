// Package simulate says how long a program takes on a topology, before anything runs: an event simulation of its steps
// as they are scheduled, not a formula for an algorithm.
//
// # Where to begin
//
//   - [Run] returns how long a [Call] of a program takes on a machine: a [Result]. topology.Open finds the machine by
//     name, and the device's [Costs] are those of [CostsOf] if the caller gives none.
//   - [Both] returns the two times of a call: its latency and its interval, explained below.
//
// # The model
//
// Every block does its steps in order, as a device's kernel does, pass after pass. A step begins when what it waits for
// is there: a message, a free slot, a packet, a flag. It costs its block a time of its own, and the time that its data
// takes at the block's rate. Data on its way takes each link's α and occupies each for its bytes over β: first come,
// first served, so that what shares a link or a NIC waits. Messages of a two-sided program are a slot at most, and a
// block has one at its first link, so that blocks take turns there; those of a one-sided one are below. A message goes
// through its links cut-through: the last byte arrives one longest occupancy behind the first. Packets tell of
// themselves, so that a two-sided block sends them on one by one as they come; a slot is received when all of it is
// there. Columns of a one-sided program are alike and share what there is evenly, and are simulated as one block of
// their common rate.
//
// All CTAs of a one-sided launch are resident at once, since they wait for each other. The blocks of a rank share a
// GPU: the more they are, the fewer threads each CTA has, and then the fewer replicas, as the executor does it. A CTA's
// rate is by protocol, by threads, and by the links that it loads or stores over, and joint steps share it. Where a
// rank has several blocks, what they move is cut into parts, which take turns on links.
//
// What a one-sided program stores for a rank of another node ends in the block's own memory. Its next signal has the
// rank's proxy send a message of all replicas, or several where their tiles do not lie side by side
// (transport/PROXY.md). Each costs the proxies of both ends a time. They do one after the other, the next while the
// last is on its way. A message occupies the links between nodes for a time beside its bytes. Messages share links:
// those on a full link slow down alike (max-min), and speeds are set anew when one begins or ends. Those of one block
// to one rank go one after the other. All that blocks move on such a link counts as one message. The block goes on at
// once: neither its stores nor its signal wait for the network. A port's copies within a node are over before the block
// signals, as in the kernel.
//
// What a device adds to α and β is in its Costs: what a launch, a step, a signal and a message take, what a block and a
// GPU move, and what a protocol's flags take of a link. They are measured, and lie in devices/*.json.
//
// Of a launch of many passes the first ones are simulated, and the rest take as long as the later of these, or as the
// busiest link needs.
//
// A call has two times, for one-sided and two-sided programs alike. Its latency is what one launch takes, alone on the
// machine. Its interval is the time from the end of a launch to the end of the next, where several follow each other:
// the root of a Broadcast is in the next launch while others are at this one. Benchmarks measure intervals, and costs
// are fitted to these.
package simulate

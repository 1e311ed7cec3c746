// Package simulate predicts how long a program takes on a topology, before anything runs. It simulates the events of
// all steps as a device schedules them, and uses no formula for an algorithm.
//
// # Where to begin
//
//   - [Run] returns the time of a [Call] of a program on a machine, as a [Result]. topology.Open finds the machine by
//     name. If the caller gives no costs of the device, Run uses those of [devices.CostsOf].
//   - [Both] returns the two times of a call: its latency and its interval, explained below.
//
// # The model
//
// Each block does its steps in order, one tile iteration after the other, as in a device's kernel. A step begins when
// everything is there for which it waits: a message, a free slot, a packet or a flag. A step keeps its block busy for a
// fixed time, and for the time that its data takes at the block's rate. Each link of a path adds its latency α. Data
// occupies each link for its bytes divided by the link's bandwidth β. Links and NICs serve data first come, first
// served. Only messages of one-sided programs between nodes share the bandwidth of a link (see below).
//
// In a two-sided program, a message fills at most one slot. A block puts a message on the first link of the path when
// the block's previous message has left that link, so blocks that share the link take turns. Links forward a message
// cut-through: the time from its first byte to its last is the time that the path's slowest link needs for the message.
// In protocol Simple, a message is received when all of it has arrived. In other protocols, packets carry their own
// flags, so a block forwards them one by one as they arrive.
//
// In a one-sided program, all replicas of a block are alike and share resources evenly. They are simulated as one
// block, whose rate is the sum of their rates. All CTAs of a launch are resident at once, because they wait for each
// other. The blocks of a rank share a GPU. With more blocks, each CTA has fewer threads, and at some point there are
// fewer replicas, as in the executor.
//
// A CTA's rate depends on the protocol, on its threads, and on the links that it loads or stores over. Joint steps,
// which run together without a block barrier, share this rate. If a rank has several blocks, the data that they move is
// cut into parts, which take turns on links.
//
// A port (a copy engine that a host thread starts) has a block of its own. The block signals only after the copies of
// the port have ended.
//
// # Several nodes
//
// If a one-sided block has data for a rank on another node, it stores the data in memory of the block's own node. The
// block's next signal makes the proxy of the sending rank send one message for all replicas, or several messages if
// their tiles are not adjacent (transport/PROXY.md). The sending block continues at once: neither its stores nor its
// signal wait for the network.
//
// Each message costs time in the proxies of both ends. A proxy handles one message after the other, and does not wait
// until a message has arrived before it starts the next. A message occupies the links between nodes for a fixed time,
// and for the time of its bytes. Messages that share a full link share its bandwidth evenly (max-min fairness). The
// rates are computed again when a message begins or ends. Messages of one block to one rank follow each other.
//
// A link can carry messages between nodes and also data that blocks move within a node. On such a link, the data of all
// blocks together counts as one more message.
//
// # Costs and times
//
// [devices.Costs] holds the costs of a device beside α and β: the times of a launch, a step, a signal and a message,
// the rates of a block and a GPU, and the part of a link that a protocol's flags take. They are measured, unless
// Unmeasured is set.
//
// In a launch of many tile iterations, only the first ones are simulated. Each remaining iteration takes the average
// time of the later half of the simulated ones. If the busiest link needs more time for an iteration, each remaining
// iteration takes that time.
//
// A call has two times, for one-sided and two-sided programs alike. Its latency is the time of one launch alone on the
// machine. Its interval is the time from the end of a launch to the end of the next, if several launches follow each
// other. The interval can be shorter than the latency: the root of a Broadcast begins the next launch while other ranks
// are still in this one. Benchmarks measure intervals, and costs are fitted to intervals.
package simulate

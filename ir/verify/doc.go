// Package verify proves a Program, whoever made it: its form, the matching of
// sends and receives, that it runs to its end with the slots that its
// connections have, that its blocks do not race, and that the outputs hold
// what the collective says. What it accepts may be run. It is sound, and for
// programs of two-sided operations exact: what it rejects does go wrong in some
// schedule, save for what it calls undecided.
//
// # What a program does
//
// All blocks of all ranks run at once, each its steps in order. A step first
// waits for its flag: until some step of block DepBlock, at or after DepStep,
// that has HasDep has ended. A transfer of n chunks takes ceil(n/m) messages
// of up to m chunks. Each is one action, which needs a message in the
// connection that it receives from and a free slot in the one that it sends
// to; then it reads, writes, takes and leaves. A local step is one action.
//
// # Liveness
//
// A block waits for one thing at a time, and nothing takes away what it waits
// for. Whether all blocks end therefore does not depend on timing, and one
// simulated run decides it. What lives with messages of m chunks lives with
// longer ones. Connections are empty at the end, so that a second tile or
// launch finds what the first found.
//
// # Races
//
// Two accesses of different blocks to one chunk, one of them a write, must be
// ordered by happens-before, which has two relations. Both hold along the
// order of a block's steps and from a flag's step to the steps behind the wait
// for it. From the action that sends a message to the one that receives it,
// both hold where the operations and the protocol release and acquire (see
// ir.OpInfo, ir.Protocol.Releases). A packet makes nothing visible but what it
// carries, and packets of one message come one by one: when one of them is
// there, done is what the sender did before that message, and its reads of the
// very bytes that the packet carries; the rest only when all have come. So
// messages that release are judged at their shortest, and packets at their
// longest.
//
// A read after a write and a write after a write need visible, a write after a
// read needs done. Slots order nothing, although a FIFO that is full would.
// Tiles touch different bytes, and launches of a rank follow each other, so that
// what holds for one tile of one launch holds for all.
//
// # Result
//
// With all conflicts ordered, any order of actions that keeps to
// happens-before computes the same. One is evaluated on symbolic chunks, with
// sums as multisets, and compared with the collective.
//
// # One-sided programs
//
// Check proves programs of one-sided operations (onesided.Program has their
// semantics) for any sequence of launches, of any sizes and numbers of columns.
// One replica stands for all. The rules:
//
// Form. Steps are Move, Signal and Await; their operands follow each other in
// Operands. A Move has sources and destinations, a Signal flags to raise, an Await flags of
// its own rank. Enter and Leave mark flags' steps only, Relaxed too, Joint a step behind one of the same passes. A
// destination is a source exactly or overlaps none, and no other destination.
// The switch reads and writes plain memory. A chunk of packets is written by
// one step, and read by one block of its rank, in each pass. A flag that is awaited is signalled, whatever Nth asks
// for: by one block, and awaited by one, and all its steps count passes or all count
// launches; of the latter, those of Enter signal before those of Leave, and an
// Enter await does not wait for a Leave signal of its launch.
//
// Liveness. A Move may wait for all its packets before it writes anything, and
// the members of a joint group begin in order. No step waits for one of a later
// pass, nor in the first pass of a launch for its last, so that all waiting cycles lie in one
// pass; the pass that is a launch of its own has all steps, and its cycles are
// those of any. Nth is at most the signals that there are.
//
// Races. Two accesses to one chunk, one of them a write, need visible, or done
// where the earlier one reads. Both hold from a group of a block to the next, and
// from what is before a Signal to what is behind the Await that it ends, however
// many passes later; where either is Relaxed, done alone. That Signal is the last that the Await waits for: if it is
// Relaxed, an ordinary one before it on the same flag makes nothing visible either. What a thread was told by an Await
// it tells by its Signals behind that, without the threads of its block meeting (onesided.Program.ToldOn).
// Packets bring done: of all before the sender's group, and of the sending step's reads of the chunks that it made
// them of; the step that reads them has that
// for what it writes in their place, the group behind it for all. So a read is over, too, when what was made of it has
// come round.
//
//   - Within a pass, judged without Enter and Leave steps, as a pass between the
//     first and the last of a launch is: any other has these orders and more.
//   - Scratch and packets of pass e and pass e + Depth, the next that uses the copy,
//     again without Enter and Leave, and as if no launch ended: the end of a launch
//     only orders more. What is ordered behind pass e stays so behind later ones, and
//     all accesses of a pass to a chunk of scratch come behind its first, a write: else it is
//     uninitialized. So the last write and the reads behind it, against the first write,
//     decide; and of packets, the reads against the write.
//   - Input and output of pass e and of other passes of a launch are different
//     bytes. What a launch does to another rank's comes behind the begin of that rank's
//     launch, of which signals must tell, Relaxed ones too, or, where it writes, signals or packets; and before its
//     end: done where it reads, visible where it writes. Where that holds of a step in the first pass of a launch,
//     which has no Leave steps, and in the last, which has no Enter steps, it holds in all. A rank's launches follow
//     each other: so do then all accesses to its memory, whichever bytes a launch is given.
//
// Where launches have one pass (OnePass), all steps are in every pass, and the end of each orders all that a rank's own
// blocks do behind all that they did and knew. What loose blocks do is left out of that, and is to the input and output
// of their own rank as to those of others.
//
// A pair of accesses is missed by none of these, and each can happen: what
// they reject goes wrong in some launches.
//
// Result. As of two-sided programs, for one pass that reads of scratch only what it
// wrote.
//
// # Several nodes
//
// Where Options.Nodes says that ranks are of several nodes, they reach memory of their own node only. A network carries
// what a block writes into scratch of a rank of another node. A Signal of the block to a flag of that rank, in a later
// group than the write, is sent behind the data, unless it is Relaxed, or is not in each pass. Messages of one block to
// one rank arrive in their order, those of other blocks or to other ranks in any. So happens-before is as it is without
// nodes but for what comes behind such a write: it comes behind the arrival, which precedes what follows an Await of
// such a Signal. Two writes of one block to one place are in order. What comes before a write is any order's: credits
// may come by any path. Each write is sent: some Signal of its block to that rank is of a later group, of each pass
// and not Relaxed.
//
// So an Await of a Signal of the block by that rank learns what has arrived there, and it is passed on as all that is
// known: in the first pass, by who knows that the Await is over. Where several blocks write one place, a later pass
// asks too. For each such block and rank, clocks count beside the groups of each chain up to which group of the block
// its writes have arrived.
//
// Between nodes there is nothing else: no reads, no input and output, no packets, no ports and no switch.
package verify

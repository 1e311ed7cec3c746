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
package verify

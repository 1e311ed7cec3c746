// Package verify proves programs, from any source. It checks that a program is well formed, that each send matches a
// receive, that no block waits for ever with the number of slots that the connections have, that no two blocks race,
// and that the outputs hold what the collective says. The proof is sound: it accepts no wrong program. A program that
// it rejects goes wrong in some schedule, with a few exceptions. docs/proof.md lists them: programs that may work, and
// programs for which the proof cannot decide this.
//
// # What a two-sided program does
//
// All blocks of all ranks run at once. Each block runs its steps in order.
//
//   - A step can depend on a step of another block of its rank (DepBlock, DepStep). Only steps that are marked HasDep
//     report their end. So if step DepStep is not marked, the dependent step waits for the next marked step of block
//     DepBlock. Otherwise it waits for DepStep itself.
//   - A message holds up to m chunks. The number m follows from the size of the call.
//   - A step that sends or receives n chunks does ceil(n/m) actions, one for each message. If the step receives, the
//     action waits for a message. If the step sends, the action waits for a free slot in the connection to which it
//     sends. Then the action reads and writes chunks, frees the slot of the received message, and fills the free slot.
//   - A step that neither sends nor receives is one action.
//
// # Liveness
//
// If a block waits for a message or for a slot, no other block can take this message or this slot away. So the timing
// does not decide whether all blocks end, and one simulated run is enough. Longer messages need fewer slots. So a
// program that ends with messages of m chunks also ends with longer messages. The simulated run uses the shortest
// messages that the program's sizes allow. At the end, all connections are empty. So a second tile or launch starts as
// the first one did.
//
// # Races
//
// Two accesses to one chunk conflict if different blocks make them, and at least one access is a write. The order
// happens-before must order all conflicts. It has two relations:
//
//   - An earlier action is done for a later action if the earlier one has ended before the later one begins.
//   - An earlier action is visible to a later action if it is done, and the later one also sees what it wrote.
//
// In a conflict, an earlier write must be visible to the later access. An earlier read need only be
// done for it: a read writes nothing that the later access would have to see. Both relations are transitive, and have
// these sources:
//
//   - Steps: an action of a block is visible to the later actions of this block.
//   - Dependences: if step t waits for step s, then s is visible to t.
//   - Messages: the action that sends a message is visible to the action that receives it, if the operations and the
//     protocol order memory (release and acquire: ir.OpInfo, ir.Protocol.Releases).
//   - Packets, in protocols such as LL: a packet is data with its own flag. A packet makes only its own data visible.
//     The packets of a message arrive one by one. When one of them has arrived, all that the sender did before this
//     message is done. The sender's reads of the bytes in this packet are done too. The rest of the sender's action is
//     done when all packets of the message have arrived.
//
// The length of messages decides which accesses are ordered. The proof uses the length that orders the fewest pairs of
// accesses. If messages order memory, this is the shortest length: a longer message orders more chunks at once. With
// packets, it is the longest length: the packets of one message do not order each other, but the packets of a later
// message come after the whole earlier message.
//
// The proof takes no order from waits for free slots. Tiles touch different bytes, and the launches of a rank follow
// each other. So the result for one tile of one launch holds for all.
//
// # Result
//
// If all conflicts are ordered, each order of actions that respects happens-before computes the same result. The proof
// evaluates one such order on symbolic chunks, with sums as multisets, and compares the result with the collective.
//
// # Words for one-sided programs
//
// The comment of onesided.Program has the full semantics. This section explains the words that the rules below use.
//
//   - A tile is the part of each chunk's bytes that one trip over the steps moves. Such a trip is a tile iteration. A
//     launch has one or more tile iterations. If OnePass is set, it has one.
//   - A Move copies or reduces chunks. A Signal adds 1 to flags. An Await waits for flags of its own rank.
//   - Nth says for which signal of a flag an Await waits, counted from the start of its tile iteration. For example,
//     let a flag have 2 signals in each tile iteration. Then signals 1 and 2 are those of the Await's own tile
//     iteration, -1 and 0 those of the iteration before, and so on. With n signals, the own iteration has 1 to n, and
//     the one before has -(n-1) to 0. A wait for a signal from before the first launch ends at once.
//   - An Enter step runs only in the first tile iteration of each launch, and a Leave step only in the last one. The
//     flags of such steps count launches in place of tile iterations.
//   - The threads of a block synchronise before each step, but not before a Joint step. A group is a step that is not
//     Joint, together with the Joint steps that follow it.
//   - A Relaxed Signal or Await does not order memory: it makes accesses done, but not visible.
//   - A chunk of packets is a chunk in the buffer Packets. Its reader waits until the packets arrive.
//   - Scratch and packets have Depth copies. Tile iteration e uses copy e mod Depth.
//   - An operand of the NVLink switch stands for the same chunk of all ranks. The switch adds these chunks, or copies
//     to them.
//   - A port is a channel. When a host thread starts a copy of the port, a copy engine of the GPU makes it. The steps
//     of a port are a block of their own. This block is Loose: it may still run when the launch of its rank has ended.
//
// # One-sided programs
//
// Check proves one-sided programs for any sequence of launches, of any sizes and numbers of replicas. One replica
// stands for all.
//
// Form:
//
//   - The operands of a step follow each other in Operands. A Move has sources and destinations. A Signal has the flags
//     that it raises. An Await has flags of its own rank.
//   - Only a Signal or an Await can be marked Enter, Leave or Relaxed.
//   - A Joint step has the same Enter and Leave marks as the step before it.
//   - A destination of a Move equals one of its sources, or overlaps none of them. Two destinations do not overlap.
//   - An operand of the switch is plain memory, and not packets.
//   - Only one step writes a chunk of packets. Only one block reads it: a block of the rank whose memory has the chunk.
//   - Only one block signals a flag, and only one block awaits it. Each awaited flag has a signal, also if Nth is 0 or
//     less.
//   - Either all steps of a flag are marked Enter or Leave, or none is. If they are marked, the Enter signals come
//     before the Leave signals, and no Enter Await waits for a Leave signal of its own launch.
//
// Liveness:
//
//   - The proof assumes the worst case: a Move waits for all its packets before it writes anything, and the steps of a
//     group begin in order.
//   - Nth is at most the number of signals that a flag gets in a tile iteration. So no step waits for a step of a later
//     tile iteration.
//   - The flags of Enter and Leave steps count launches, so they need a rule of their own: an Enter Await does not wait
//     for a Leave signal of its own launch. So no step of a launch's first tile iteration waits for one of its last.
//   - So all waits of a cycle are in one tile iteration. If a launch has only one tile iteration, this iteration has
//     all steps, also those marked Enter and Leave. A tile iteration of a longer launch has only some of them, so each
//     of its cycles is also in the iteration with all steps. So it is enough to run one launch of one tile iteration.
//
// Races: two accesses to one chunk conflict if at least one is a write. As above, an earlier write must be visible, and
// an earlier read must be done. Order comes from these sources:
//
//   - Groups: each group of a block is visible to the next group of this block.
//   - Signals: an Await waits for a Signal. What is visible to the group of the Signal is also visible to all groups
//     after the Await, in the same tile iteration or a later one. If the Signal or the Await is Relaxed, all this is
//     only done for these groups, and not visible.
//   - An Await that waits for signal 3 of a flag also waits for signals 1 and 2. But it acquires only from signal 3. If
//     that one is Relaxed, the Await makes nothing visible, not even what signals 1 and 2 released.
//   - Threads: thread k of a block handles flag k of every Await and of every Signal. If an Await and a later Signal
//     are in one group, the same thread does both. So flag k of the Signal also releases what flag k of the Await
//     acquired (onesided.Program.Relayed has the exact conditions).
//   - Packets: let A be all accesses before the sender's group, together with those reads of the sending step from
//     which the packet was made. When the packet has arrived, A is done. The receiving step reads the packet and
//     computes chunks from it. Its accesses to these chunks come after A, but its other accesses need not. All accesses
//     of later groups of the receiving block come after A.
//   - For example, a rank reads a chunk, and sends packets made from it. Then this read is done for each block that
//     receives the packets, or receives packets made from these, and so on.
//
// The proof checks three kinds of pairs of accesses:
//
//   - pairs in one tile iteration
//   - pairs in scratch or packets, of tile iterations e and e + Depth
//   - pairs in input or output, with an access by another rank
//
// For pairs in one tile iteration, the proof takes a middle iteration of a launch: neither its first nor its last one.
// A middle iteration has no Enter steps and no Leave steps. In all other iterations, the same pairs are ordered, or
// more.
//
// For pairs in scratch or packets, e + Depth is the next iteration that uses the same copy as e. The proof again leaves
// out Enter and Leave steps. It also takes no order from the end of a launch. Iterations e + 2 Depth and later need no
// check: if a step of e + Depth comes after an access of e, the same step of every later iteration does so too.
//
// Few pairs in scratch must be compared. In each iteration, the first access to a chunk is a write, and all other
// accesses come after it: otherwise the chunk is uninitialized. So all accesses of iteration e + Depth come after its
// first write. And each access of iteration e is ordered with the last write of e: it comes before this write, or is a
// read after it. So the first write of e + Depth must come after these: the last write of e, and the reads after it.
//
// For packets, the write of iteration e + Depth must come after the reads of iteration e.
//
// For pairs in input or output, different tile iterations of a launch access different bytes, and the launches of a
// rank follow each other. So only accesses by other ranks must be checked. The owner is the rank whose input or output
// is accessed. The access must come after the start of the owner's launch, and before its end.
//
// The start: a block that reads must know by Signals that the owner's launch has begun. Relaxed Signals are enough. The
// caller wrote the data before the launch, and the reader has not read it in its own launch yet, so no cache holds an
// older copy. A block that only writes need not see this data, so it may also know by packets that the launch has
// begun.
//
// The end: before the owner's launch ends, a read must be done for some block of the owner, and a write must be visible
// to some block of the owner.
//
// In the first tile iteration of a launch (without Leave steps), the proof checks that accesses come after the start.
// In the last one (without Enter steps), it checks that they come before the end. In a middle iteration, each step
// runs after it ran in the first one, and before it runs in the last one. So its accesses need no check.
//
// If OnePass is set, each launch has one tile iteration. Then the proof leaves out no steps, and it uses the order
// between launches: all that a rank's own blocks do in a launch comes after all that they did and acquired in its
// earlier launches. Loose blocks do not have this order. With and without OnePass, a Loose block's access to input or
// output of its own rank is checked like an access by another rank.
//
// These checks cover every pair of accesses, and each pair occurs in some launches. So a program that they reject goes
// wrong in some launches, except in the cases that docs/proof.md lists.
//
// Result: as for two-sided programs. The proof evaluates one tile iteration, which may read only the scratch that it
// wrote itself.
//
// # Several nodes
//
// Options.Nodes has the node of each rank. A step accesses memory of its own node, with two exceptions: a Move can
// write scratch of a rank on another node, and a Signal can raise a flag there. A network carries both. There is
// nothing else between nodes: no reads, no access to input and output, no packets, no ports and no switch.
//
//   - The network does not send the data of such a write at once. It waits until the writing block, in a later group,
//     signals the rank to which the block wrote. Then the network sends the data, and after them the Signal. A
//     Signal does not make the network send data if it is Relaxed, or if it is not in every tile iteration.
//   - So each write needs a Signal that makes the network send it: by the same block, to the same rank, in a later
//     group, in every tile iteration, and not Relaxed.
//   - Messages from one block to one rank arrive in order. Messages of different blocks, or to different ranks, arrive
//     in any order.
//
// Happens-before has one more rule for such a write W of block B to rank R. An access of another block comes after W
// only if it comes after the arrival of W. Let S be the Signal of B that makes the network send W, or a later such
// Signal of B to R. If a block of R awaits S, all that follows this Await comes after the arrival of W. Two writes of
// one block to one chunk arrive in order.
//
// There is no such rule for an access that comes before W: signals over any ranks can order it before W. For example, a
// credit is the Signal that lets a block write to scratch again. A credit can go from rank to rank on any path.
//
// The code tracks arrivals as follows. In the tile iteration of W, the usual clocks are enough: they show whether an
// access comes after such an Await. In a later tile iteration, only the first write of the chunk is compared with W
// (see above). If this is a write of B too, it arrives after W. So later tile iterations need a check of arrivals only
// if several blocks write one chunk.
//
// For this check, the vector clocks have more entries: one for each pair (B, R), where block B writes such a chunk of
// rank R. The entry is the number of the last group of B whose writes to R have arrived. An Await of a Signal of B
// acquires this entry. Blocks release it like all else that they acquired.
package verify

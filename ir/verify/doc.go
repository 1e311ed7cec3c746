// Package verify proves a Program, from any source. It checks that the program is well formed, that sends match
// receives, that the program ends with the slots that its connections have, that its blocks do not race, and that the
// outputs hold what the collective says. The proof is sound: an accepted program may run. For programs of two-sided
// operations it is also exact: a rejected program goes wrong in some schedule, unless the error says undecided.
//
// # What a program does
//
// All blocks of all ranks run at once, and each runs its steps in order. A step with a dependence first waits for a
// flag. The wait ends when some step of block DepBlock, at or after DepStep, that has HasDep has ended. A transfer of n
// chunks takes ceil(n/m) messages of up to m chunks. Each message is one action. The action needs a message in the
// connection that it receives from, and a free slot in the connection that it sends to. Then it reads, writes, takes
// the received message and leaves the sent one. A local step is one action.
//
// # Liveness
//
// A block waits for one thing at a time, and no action of another block takes this thing away. So the timing does not
// decide whether all blocks end, and one simulated run is enough. A program that ends with messages of m chunks also
// ends with longer ones. Connections are empty at the end. So a second tile or launch starts as the first one did.
//
// # Races
//
// Two accesses of different blocks to one chunk, at least one of them a write, must be ordered by happens-before. It
// has two relations: the earlier action is visible (its writes can be read), or done (it has ended). Both hold along
// the order of a block's steps, and from the step of a flag to the steps after the wait for it. From the action that
// sends a message to the action that receives it, both hold if the operations and the protocol release and acquire (see
// ir.OpInfo, ir.Protocol.Releases).
//
// A packet makes only its own data visible. The packets of a message arrive one by one. When one of them has arrived,
// these are done: all that the sender did before that message, and the sender's reads of the bytes that this packet
// carries. The rest of the sender's action is done when all packets have arrived. So messages that release are checked
// at their shortest, and packets at their longest.
//
// A read after a write and a write after a write need visible. A write after a read needs done. The proof takes no
// order from slots, although a full FIFO would order some accesses. Tiles touch different bytes, and the launches of a
// rank follow each other. So the result for one tile of one launch holds for all.
//
// # Result
//
// If all conflicts are ordered, each order of actions that respects happens-before computes the same result. The proof
// evaluates one such order on symbolic chunks, with sums as multisets, and compares the result with the collective.
//
// # One-sided programs
//
// Check proves programs of one-sided operations (onesided.Program has their semantics) for any sequence of launches, of
// any sizes and numbers of replicas. One replica stands for all. The code calls a tile iteration a pass. The rules:
//
// Form. Steps are Move, Signal and Await, and their operands follow each other in Operands. A Move has sources and
// destinations, a Signal has flags to raise, and an Await has flags of its own rank. Enter, Leave and Relaxed mark only
// steps with flags. Joint marks a step that follows a step of the same tile iterations. A destination equals a source
// or overlaps none, and it overlaps no other destination. The switch reads and writes plain memory. In each tile
// iteration, one step writes a chunk of packets, and one block of its rank reads it. Each awaited flag is signalled,
// whatever Nth asks for. One block signals a flag, and one block awaits it. All steps of a flag count tile iterations,
// or all count launches. If they count launches, signals of Enter come before those of Leave, and an Enter await does
// not wait for a Leave signal of its launch.
//
// Liveness. The proof assumes that a Move may wait for all its packets before it writes anything, and that the members
// of a joint group begin in order. No step waits for a step of a later tile iteration, and in the first one of a launch
// no step waits for the last. So each cycle of waits lies in one tile iteration. A tile iteration that is a launch of
// its own has all steps, so its cycles include those of any other. Nth is at most the number of signals.
//
// Races. Two accesses to one chunk, at least one of them a write, need visible, or done if the earlier one reads. Both
// hold from a group of a block to its next group. Both also hold from what is before a Signal to what is after the
// Await that it ends, any number of tile iterations later. If either is Relaxed, only done holds. That Signal is the
// last one that the Await waits for: if it is Relaxed, an ordinary one before it on the same flag makes nothing visible
// either. What a thread acquires by an Await, its later Signals release, without a block barrier in between
// (onesided.Program.ToldOn).
//
// Packets give done, for all that is before the sender's group, and for the sending step's reads of the chunks from
// which it made the packets. The step that reads the packets has this order for what it writes in their place. The
// group after it has this order for everything. So a read is also done when packets that were made from its result have
// come back.
//
//   - Within one tile iteration. It is checked without Enter and Leave steps, as an iteration between the first and the
//     last of a launch. Any other has these orders and more.
//   - Scratch and packets of tile iterations e and e + Depth, the next that uses the same copy. They are checked
//     without Enter and Leave steps, and as if no launch ended: the end of a launch only adds order. What comes after
//     iteration e also comes after later ones. All accesses of an iteration to a chunk of scratch come after its first
//     access, a write. Otherwise the chunk is uninitialized. So the last write and the reads after it are checked
//     against the first write. Of packets, the reads are checked against the write.
//   - Input and output. Tile iteration e and other iterations of a launch access different bytes. Accesses of a launch
//     to another rank's input or output must come after the begin of that rank's launch, and before its end. For the
//     begin, a Signal must show this, also a Relaxed one. For writes, packets may show it too. For the end, reads must
//     be done, and writes visible. If this holds for a step in the first tile iteration of a launch, which has no Leave
//     steps, and in the last, which has no Enter steps, it holds in all. A rank's launches follow each other. So all
//     accesses to its memory do too, whichever bytes a launch is given.
//
// If launches have one tile iteration (OnePass), it has all steps. After the end of a launch, all that a rank's own
// blocks do comes after all that they did and acquired before. Loose blocks are not part of this (ir.Program.Loose).
// For the input and output of their own rank, they are checked like blocks of other ranks.
//
// These checks cover every pair of accesses, and each pair can happen. So a program that they reject goes wrong in some
// launches.
//
// Result. It is checked as for two-sided programs, for one tile iteration, which may read only scratch that it wrote.
//
// # Several nodes
//
// Options.Nodes says which node each rank is on. Then ranks access memory of their own node only. A network carries
// what a block writes into scratch of a rank of another node. It is sent by a Signal of the block to a flag of that
// rank, in a later group than the write: the Signal is sent after the data, unless it is Relaxed or not in each tile
// iteration. Messages of one block to one rank arrive in their order. Messages of other blocks, or to other ranks,
// arrive in any order.
//
// So happens-before is as without nodes, except for what comes after such a write. This comes after the arrival of the
// write, and the arrival comes before what follows an Await of such a Signal. Two writes of one block to the same chunk
// are in order. What must come before a write can be ordered by any path, so credits may take any path. Each write must
// be sent: some Signal of its block to that rank is in a later group, is in each tile iteration and is not Relaxed.
//
// So an Await of a Signal by that rank acquires what has arrived there from the block. The rank passes this on with all
// else that it acquired. In the first tile iteration, each block after the Await knows these arrivals. If several
// blocks write the same chunk, a later tile iteration is checked for arrivals too. For each such block and rank, the
// clocks then have one more count, beside the groups of each chain: the last group of the block whose writes have
// arrived.
//
// Programs do nothing else between nodes: no reads, no access to input and output, no packets, no ports and no switch.
package verify

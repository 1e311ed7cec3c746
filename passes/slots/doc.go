// Package slots lowers two-sided programs to one-sided programs of protocol Simple, step by step. [Lower] turns each
// step of a thread block into at most three steps of the same block: an Await, a Move and a Signal.
//
// Each connection becomes slots in the receiver's scratch, a flag of the receiver that counts messages, and a flag of
// the sender that counts credits, which are free slots. All data that one step sends is one message. For message j, the
// sender waits until the receiver has read the message that was in the same slot before. Then the sender moves the data
// into the slot, and signals the receiver's flag. The receiver waits for this signal, reads the slot, and signals the
// sender's flag.
//
// So a rank never accesses input or output of another rank. Such a program is called staged (onesided.Program.Staged).
// A wait for a step of another thread block of the rank becomes a flag between the two blocks.
//
// A two-sided program has its own scratch too. It lasts for a whole launch, and has room for all bytes of its chunks.
// Scratch of a one-sided program holds one tile of each chunk, in Depth copies. So tile iteration e + Depth overwrites
// the scratch of iteration e. Before the first write to a chunk, the lowered program waits until all other blocks have
// done their last access to this chunk in iteration e. This wait is for an earlier tile iteration, so it cannot be part
// of a deadlock.
//
// The lowering is a table of passes over one [State], one pass a file. [Lower] keeps the verdict: if each step of the
// two-sided program sends all its chunks in one message, ir/verify proves both programs or neither. Tests check this on
// random programs. They also check that faults put into each pass are found.
package slots

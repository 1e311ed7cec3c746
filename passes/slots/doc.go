// Package slots lowers two-sided programs to one-sided programs of protocol Simple, step by step. [Lower] turns each
// step of a thread block into at most three steps of the same block: an Await, a Move and a Signal.
//
// A connection becomes slots of scratch at its receiver, a flag at the receiver that counts messages, and a flag at the
// sender that counts credits. A message is all that one step sends. The sender waits until the previous message in its
// next slot was read. Then it moves the data there, and signals. The receiver waits for this signal, reads the slot,
// and signals that the slot is free. So a rank accesses only scratch and flags in memory of other ranks: the program is
// staged (onesided.Program.Staged).
//
// A wait for a step of another thread block becomes a flag from that block to this one.
//
// Scratch of a two-sided program lives for a launch, and has room for all bytes of its chunks. Scratch of a one-sided
// program holds one tile of each chunk, and later tile iterations use it again. So the block that first writes a chunk
// of scratch also waits until the other blocks no longer use what the chunk held Depth tile iterations ago. Such a wait
// is for an earlier tile iteration only, so it cannot be part of a deadlock.
//
// The steps of the lowering are a table of passes over one [State], one pass a file. [Lower] keeps the verdict:
// ir/verify proves the lowered program if and only if it proves the two-sided one with messages of whole steps. Tests
// check this on random programs, and check that broken copies of each pass are noticed.
package slots

// Package slots lowers two-sided programs to one-sided ones of protocol Simple, step by step: [Lower] makes of each
// step of a thread block at most three of the same block, an Await, a Move and a Signal.
//
// A connection becomes slots of scratch at its receiver, a flag there that counts messages, and a flag at its sender
// that counts credits. A message is what one step sends, all of its chunks. The sender waits until the slot of its next
// message was read, moves the data there, and signals. The receiver waits for that, reads the slot, and signals that
// it is free. So other ranks reach scratch and flags only: the program is staged (onesided.Program.Staged).
//
// A wait for a step of another thread block becomes a flag from that block to this one.
//
// Scratch of a two-sided program lives for a launch, and spans a chunk. Scratch of a one-sided one holds one tile, and
// is used again by a later tile iteration. So who writes a chunk of scratch first also waits until the other blocks
// have ended with it, Depth tile iterations ago. Such waits are for earlier tile iterations only, so that none of them
// can be part of a deadlock.
//
// The steps are a table of passes over one [State], one pass a file. [Lower] keeps the verdict: with messages of whole
// steps, ir/verify proves the lowered program exactly if it proves the other. The tests hold that, on random programs
// and on broken copies of each pass.
//
// The package imports ir, ir/diag, ir/eval and ir/form.
package slots

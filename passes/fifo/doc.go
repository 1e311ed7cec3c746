// Package fifo is the two-sided lowering: it turns a chunk DAG into an instruction DAG (Lower) and takes
// that through the table of passes (Run) until every instruction has a thread
// block, a channel, a place in its block's order and the flags it waits for.
//
// It follows MSCCLang (ASPLOS'23): a remote copy is a
// send and a receive over a connection (channel, source, destination) with a
// finite number of slots. Table, read from top to bottom, says what happens
// in which order, and which properties each pass needs and gives; package
// ir/property has one checker a property, and tests run all of them after every pass on
// shuffled input.
//
// Three ideas carry the package:
//
//   - The source order of an InstDAG (Inst.Seq) is its meaning, and dependences
//     are derived from it (depend.go). A pass that rewrites instructions keeps
//     the order legal and derives them anew.
//   - Fusion, channels and blocks are one decision (fuse.go, place.go): on one
//     channel of one rank the peers of fused instructions pair one to one.
//   - One global order schedules all ranks (order.go), slots included; each
//     block takes its steps in that order, and so no program can deadlock.
package fifo

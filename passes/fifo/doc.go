// Package fifo is the two-sided lowering. Lower turns a chunk DAG into an instruction DAG. Run applies the table of
// passes to it. After them, every instruction has a thread block, a channel, a position in its block's order, and the
// steps of other blocks that it waits for.
//
// The package follows MSCCLang (ASPLOS'23). A copy to another rank becomes a send and a receive over a connection. A
// connection has a channel, a source, a destination, and a finite number of slots. Table lists the passes in their
// order, with the properties that each needs and gives. Package ir/property has one checker for each property. Tests
// run all checkers after every pass, on input in random order.
//
// Three ideas are important:
//
//   - The source order of an InstDAG (Inst.Seq) is its meaning, and dependences are derived from it (depend.go). A pass
//     that rewrites instructions keeps the order legal and derives the dependences again.
//   - Fusion, channels and blocks are decided together (fuse.go, place.go). A fused instruction receives from one peer
//     and sends to another. It runs in one block, and a block has one peer to receive from and one peer to send to. So
//     on one channel of a rank, all fused instructions that receive from peer p send to one peer q. And all that send
//     to q receive from p.
//   - One global order schedules all ranks (order.go), and takes the slots into account. Each block does its steps in
//     this order, so no program can deadlock.
package fifo

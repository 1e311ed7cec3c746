package ir

// Limits is what a target accepts. A zero field is no limit.
type Limits struct {
	Target       string // for messages
	Steps        int    // steps of a block, nops included
	Blocks       int    // blocks of a rank
	Channels     int    // of a program
	Count        int    // chunks that one step moves
	Index        int    // largest chunk index
	Peers        int    // peers of a rank on one channel in one direction
	DepBlock     int    // largest block that a step may wait for
	Nodes        int    // XML elements that a rank's reader keeps
	ReduceChain  int    // sources that consecutive reductions may fuse
	ReceiveFused bool   // fused receives (rcs, rrc, rrcs, rrs) exist
	MaxBytes     int64  // sizes that a program without `sizes` is for: below this
}

// This file is kernels/abi/rows_net.h in Go, field by field.

package abi

import "structs"

// NetDepth is how many rows a lane holds. NetNarrow is how many words of bits say of which blocks replicas share CTAs.
const NetDepth, NetNarrow = 32, 64

// A NetRow says that a block signals a flag of a rank of another node: what the flag is to be, and which bytes of each
// chunk its tile iteration moves. Copy is that of scratch in its replica, of Replicas that the launch has.
type NetRow struct {
	_                        structs.HostLayout
	Seq, Count               uint64
	First, End, Elems, Chunk uint64
	Operand                  uint32
	Copy, Replicas           uint16
	Rank, Flag               uint32
}

// A NetLane is the queue of rows of one replica of a block, in memory of the host. Taken counts the rows that the proxy
// has taken.
type NetLane struct {
	_     structs.HostLayout
	Taken uint64
	_     [7]uint64
	Row   [NetDepth]NetRow
}

// Buffers of operands beside those of ir: scratch of a rank's inbox, whose Index counts the inbox's chunks, and flags
// there.
const InboxBuf, InboxFlagsBuf = 5, 6

// An Inbox says where that of a rank is: memory of the host that kernels and proxies reach. Flags is 0 of a mirror,
// which is what ranks of other nodes write.
type Inbox struct {
	_              structs.HostLayout
	Scratch, Flags uint64
}

// Net says where a launch has its lanes: NetLane [blocks of this device][max_replicas], and for each lane, in memory of
// the device, how many rows its launches have written. Inboxes is an Inbox of each rank, there too. InboxCopy is how
// many bytes an inbox has of one copy of scratch, of all replicas. Together replicas of a block whose bit is set in
// Narrow share a CTA: 1, 2 or 4.
type Net struct {
	_                               structs.HostLayout
	Lanes, Sent, Inboxes, InboxCopy uint64
	Together, _                     uint32
	Narrow                          [NetNarrow]uint32
}

// SetNet gives a launch its lanes. Its tables must be in memory.
func (p *OneParams) SetNet(n Net) {
	p.Inlined = 0
	copy(p.Code[:], words([]Net{n}))
}

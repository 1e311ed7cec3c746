// This file is kernels/abi/rows_net.h in Go, field by field.

package abi

import "structs"

// NetDepth is how many rows a lane holds.
const NetDepth = 32

// A NetRow says that a block signals a flag of a rank of another node: what the flag is to be, and which bytes of each
// chunk its tile iteration moves.
type NetRow struct {
	_                         structs.HostLayout
	Seq, Count                uint64
	First, End, Elems, Chunk  uint64
	Operand, Copy, Rank, Flag uint32
}

// A NetLane is the queue of rows of one replica of a block, in memory of the host. Taken counts the rows that the proxy
// has taken.
type NetLane struct {
	_     structs.HostLayout
	Taken uint64
	_     [7]uint64
	Row   [NetDepth]NetRow
}

// Net says where a launch has its lanes: NetLane [blocks of this device][max_columns], and for each lane, in memory of
// the device, how many rows its launches have written.
type Net struct {
	_           structs.HostLayout
	Lanes, Sent uint64
}

// SetNet tells a launch of its lanes. Its tables must be in memory.
func (p *OneParams) SetNet(n Net) {
	p.Inlined = 0
	copy(p.Code[:], words([]Net{n}))
}

// This file is kernels/abi_few.h in Go, field by field.

package executor

import "structs"

// FewSteps and FewOperands are how much of a program a launch of few packets holds.
const (
	FewSteps    = 16
	FewOperands = 56
)

// Flags of a FewStep, and of where an operand lies.
const (
	fewMeet, fewTake, fewFold = 1, 2, 4

	fewMark = 15 // which an address of packets, a multiple of 16, is less
)

// A FewStep is one Move of a launch of few packets.
type FewStep struct {
	_                        structs.HostLayout
	Flags, Srcs, Dsts, Group uint8
	Count, First             uint16
}

// FewParams are what a launch of few packets has ready beside the general one.
type FewParams struct {
	_                     structs.HostLayout
	State, StatusAt       uint64
	Stride                [2]uint32
	PacketCopy, Depth     uint32
	Share, Units, Inverse uint32
	Number, StepCount     uint32
	Lines                 uint32
	Steps                 [FewSteps]FewStep
	Where                 [FewOperands]uint64
}

// A FewLaunch is the whole of it.
type FewLaunch struct {
	_   structs.HostLayout
	Few FewParams
	One OneParams
}

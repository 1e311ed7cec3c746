// This file is kernels/abi/rows_few.h in Go, field by field.

package abi

import (
	"structs"
	"unsafe"

	"mscclc/executor/launch"
)

// FewSteps and FewOperands are the most steps and operands of a launch of few packets.
const (
	FewSteps    = launch.FewSteps
	FewOperands = launch.FewOperands
)

// Flags of a FewStep, and the mark in the address of an operand.
const (
	fewMeet, fewTake, fewFold, fewFinish = 1, 2, 4, 8

	fewMark = 15 // the address of packets, a multiple of 16, less this
)

// A FewStep is one Move of a launch of few packets. First is its first operand in FewParams.Where.
type FewStep struct {
	_                        structs.HostLayout
	Flags, Srcs, Dsts, Group uint8
	Count, First             uint16
}

// FewParams is what the host computes for a launch of few packets, so that the kernel need not. Where holds the address
// of each operand in replica 0, without fewMark.
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

// A FewLaunch is the argument of the kernel of few packets. It falls back on One where it must.
type FewLaunch struct {
	_   structs.HostLayout
	Few FewParams
	One OneParams
}

const oneHead = unsafe.Offsetof(OneParams{}.Code)

// A FewRowsLaunch is the argument of the kernel of few packets for programs with an epilogue. One is all of OneParams
// but the code, which GPUs do not read.
type FewRowsLaunch struct {
	_    structs.HostLayout
	Few  FewParams
	One  [oneHead / 8]uint64
	Rows Rows
}

// NewFewRowsLaunch returns a launch of few packets.
func NewFewRowsLaunch(f *FewParams, p *OneParams, rows *Rows) *FewRowsLaunch {
	l := &FewRowsLaunch{Few: *f, Rows: *rows}
	copy(l.One[:], unsafe.Slice((*uint64)(unsafe.Pointer(p)), len(l.One)))
	return l
}

//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"errors"
	"os"
	"unsafe"

	"mscclc/executor/shared"
)

// This file is memory of the host that kernels access, and the proxy that carries messages between nodes
// (executor.NetGPU). Processes share it, and each pins it for the GPUs of its own.

// AllocNet makes memory that all GPUs access at its address, zeroed.
func (g *gpu) AllocNet(bytes int64) (uint64, error) {
	address, err := shared.Alloc(bytes)
	if err != nil {
		return 0, err
	}
	if err := g.pin(address, uint64(bytes)); err != nil {
		return 0, errors.Join(err, shared.Free(address))
	}
	return address, nil
}

// FreeNet gives it back.
func (g *gpu) FreeNet(address uint64) error {
	return errors.Join(g.unpin(address), shared.Free(address))
}

// ZeroNet zeroes some of it.
func (g *gpu) ZeroNet(address uint64, bytes int64) error {
	memory, err := shared.View(address, bytes)
	clear(memory)
	return err
}

// ShareNet makes a handle for other processes of this machine.
func (g *gpu) ShareNet(address uint64, bytes int64) ([]byte, error) {
	return shared.Share(address, bytes)
}

// ReachNet maps such memory of another process.
func (g *gpu) ReachNet(handle []byte) (uint64, error) {
	return shared.Reach(handle, func(whole []byte) error { return g.pin(addressOf(whole), uint64(len(whole))) })
}

// LeaveNet undoes one ReachNet.
func (g *gpu) LeaveNet(handle []byte) error {
	return shared.Leave(handle, func(whole []byte) error { return g.unpin(addressOf(whole)) })
}

func addressOf(memory []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory))))
}

// pin lets kernels access whole pages from an address on.
func (g *gpu) pin(address, bytes uint64) error {
	page := uint64(os.Getpagesize())
	bytes = (bytes + page - 1) &^ (page - 1)
	return g.failed(C.mscclc_gpu_pin(g.c, C.u64(address), C.u64(bytes)), "pinning %d bytes of memory of the host (ulimit -l)",
		bytes)
}

func (g *gpu) unpin(address uint64) error {
	return g.failed(C.mscclc_gpu_pin_end(g.c, C.u64(address)), "unpinning memory of the host")
}

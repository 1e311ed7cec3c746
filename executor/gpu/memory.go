//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"mscclc/executor"
)

// This file is a GPU's memory, as executor.GPU has it.

// Number is the driver's.
func (g *card) Number() int { return g.number }

// Use makes the GPU the calling thread's.
func (g *card) Use() error { return g.failed(C.mscclc_gpu_use(g.c), "choosing it") }

// Alloc makes memory.
func (g *card) Alloc(bytes int64) (uint64, error) {
	if bytes < 1 {
		return 0, fmt.Errorf("%v: memory of %d bytes", g, bytes)
	}
	var address C.u64
	err := g.failed(C.mscclc_gpu_alloc(g.c, C.u64(bytes), &address), "%d bytes of memory", bytes)
	return uint64(address), err
}

// Free gives memory back.
func (g *card) Free(address uint64) error {
	return g.failed(C.mscclc_gpu_free(g.c, C.u64(address)), "freeing memory")
}

// owner finds out whose memory is at an address, and what of it.
func (g *card) owner(address uint64) (number int, base, bytes uint64, err error) {
	var n C.int
	var b, l C.u64
	err = g.failed(C.mscclc_gpu_owner(g.c, C.u64(address), &n, &b, &l), "whose memory is at %#x", address)
	return int(n), uint64(b), uint64(l), err
}

// Owns says why memory is not the GPU's.
func (g *card) Owns(address uint64, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	number, base, length, err := g.owner(address)
	switch {
	case err != nil:
		return err
	case number < 0:
		return fmt.Errorf("%#x is no memory of a GPU", address)
	case number != g.number:
		return fmt.Errorf("%#x is memory of GPU %d, and not of %v", address, number, g)
	case bytes < 0 || uint64(bytes) > base+length-address:
		return fmt.Errorf("%d bytes from %#x on are wanted, and its memory has %d", bytes, address, base+length-address)
	}
	return nil
}

// Connect sees to peer access.
func (g *card) Connect(to executor.GPU) error {
	other, ok := to.(*card)
	if !ok || other.driver.vendor != g.driver.vendor {
		return fmt.Errorf("%v cannot reach %v, which is another vendor's: %w", g, to, executor.ErrNoDevice)
	}
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.reach(other)
}

// process tells this process's handles from those of others.
var process = sync.OnceValue(func() (token [16]byte) {
	rand.Read(token[:])
	return token
})

// A handle is, in bytes: a process's token, its GPU's number, where the memory begins
// there, how far into it the address is, and the driver's handle of it.
const (
	handleNumber = 16
	handleBase   = 20
	handleOffset = 28
	handleOpaque = 36
	handleBytes  = handleOpaque + C.GPU_HANDLE
)

// An opened handle is kept as long as somebody needs it: the driver may open one only
// once.
type opened struct {
	base  uint64
	users int
}

// Share makes a handle.
func (g *card) Share(address uint64) ([]byte, error) {
	number, base, _, err := g.owner(address)
	if err != nil {
		return nil, err
	}
	if number != g.number {
		return nil, fmt.Errorf("%#x is no memory of %v", address, g)
	}
	token := process()
	h := append(make([]byte, 0, handleBytes), token[:]...)
	h = binary.LittleEndian.AppendUint32(h, uint32(number))
	h = binary.LittleEndian.AppendUint64(h, base)
	h = binary.LittleEndian.AppendUint64(h, address-base)
	h = h[:handleBytes]
	code := C.mscclc_gpu_share(g.c, C.u64(base), unsafe.Pointer(&h[handleOpaque]))
	return h, g.failed(code, "memory at %#x cannot be shared with other processes (it must be of the driver's plain allocator)", address)
}

// Reach opens a handle.
func (g *card) Reach(handle []byte) (uint64, error) {
	if len(handle) != handleBytes {
		return 0, errors.New("a handle of memory has another length")
	}
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	offset := binary.LittleEndian.Uint64(handle[handleOffset:])
	if token := process(); string(handle[:handleNumber]) == string(token[:]) {
		other := g.machine.gpus[int(binary.LittleEndian.Uint32(handle[handleNumber:]))]
		if other == nil {
			return 0, errors.New("a handle of memory names no GPU")
		}
		return binary.LittleEndian.Uint64(handle[handleBase:]) + offset, g.reach(other)
	}
	key := string(handle[:handleOffset]) + string(handle[handleOpaque:])
	o := g.opened[key]
	if o == nil {
		o = &opened{}
		var base C.u64
		if err := g.failed(C.mscclc_gpu_reach(g.c, unsafe.Pointer(&handle[handleOpaque]), &base), "memory of another process"); err != nil {
			return 0, err
		}
		o.base = uint64(base)
		g.opened[key] = o
	}
	o.users++
	return o.base + offset, nil
}

// Leave closes a handle.
func (g *card) Leave(handle []byte) error {
	if len(handle) != handleBytes {
		return errors.New("a handle of memory has another length")
	}
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	key := string(handle[:handleOffset]) + string(handle[handleOpaque:])
	o := g.opened[key]
	if o == nil {
		return nil // it is of this process
	}
	if o.users--; o.users > 0 {
		return nil
	}
	delete(g.opened, key)
	return g.failed(C.mscclc_gpu_leave(g.c, C.u64(o.base)), "leaving memory of another process")
}

// Peek reads beside what runs.
func (g *card) Peek(to []byte, address uint64) error { return g.read(g.c.side, to, address) }

// Poke writes beside what runs.
func (g *card) Poke(address uint64, from []byte) error { return g.write(g.c.side, address, from) }

func (g *card) read(stream unsafe.Pointer, to []byte, address uint64) error {
	if len(to) == 0 {
		return nil
	}
	return g.failed(C.mscclc_gpu_get(g.c, stream, unsafe.Pointer(&to[0]), C.u64(address), C.u64(len(to))), "copying from it")
}

func (g *card) write(stream unsafe.Pointer, address uint64, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	return g.failed(C.mscclc_gpu_put(g.c, stream, C.u64(address), unsafe.Pointer(&from[0]), C.u64(len(from))), "copying to it")
}

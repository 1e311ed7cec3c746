//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"mscclc/executor"
)

// This file is a GPU's memory, as executor.GPU has it.

// Number returns the driver's.
func (g *gpu) Number() int { return g.number }

// Use makes g the current GPU of the calling OS thread.
func (g *gpu) Use() error { return g.failed(C.mscclc_gpu_use(g.c), "choosing it") }

// Alloc makes memory.
func (g *gpu) Alloc(bytes int64) (uint64, error) {
	if bytes < 1 {
		return 0, fmt.Errorf("%v: memory of %d bytes", g, bytes)
	}
	var address C.u64
	err := g.failed(C.mscclc_gpu_alloc(g.c, C.u64(bytes), &address), "%d bytes of memory", bytes)
	return uint64(address), err
}

// Free gives memory back.
func (g *gpu) Free(address uint64) error {
	return g.failed(C.mscclc_gpu_free(g.c, C.u64(address)), "freeing memory")
}

// owner finds out whose memory is at an address, and what of it.
func (g *gpu) owner(address uint64) (number int, base, bytes uint64, err error) {
	var n C.int
	var b, l C.u64
	err = g.failed(C.mscclc_gpu_owner(g.c, C.u64(address), &n, &b, &l), "whose memory is at %#x", address)
	return int(n), uint64(b), uint64(l), err
}

// Owns says why memory is not the GPU's.
func (g *gpu) Owns(address uint64, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	if bytes < 0 {
		return fmt.Errorf("memory of %d bytes", bytes)
	}
	_, err := g.segments(address, uint64(bytes))
	return err
}

// Reaches returns an error if kernels on g cannot access the other GPU's memory.
func (g *gpu) Reaches(to executor.GPU) error {
	other, ok := to.(*gpu)
	if !ok || other.driver.vendor != g.driver.vendor {
		return fmt.Errorf("%v cannot reach %v, which is another vendor's: %w", g, to, executor.ErrNoDevice)
	}
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.reach(other)
}

// Connect sees to peer access.
func (g *gpu) Connect(to executor.GPU, address uint64, bytes int64) error {
	if err := g.Reaches(to); err != nil || g == to || bytes == 0 {
		return err
	}
	other := to.(*gpu)
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	list, err := other.segments(address, uint64(bytes))
	if err != nil {
		return err
	}
	return g.admit(list)
}

// process distinguishes this process's handles from those of others.
var process = sync.OnceValue(func() (token [16]byte) {
	rand.Read(token[:])
	return token
})

// A handle is what another process needs to know of memory. Plain memory has the driver's
// own handle of it; segments that were mapped have a name, by which the process that has them hands
// out files (files.go).
type handle struct {
	Process [16]byte
	GPU     int
	Base    uint64   // where the memory begins there
	Offset  uint64   // from there to what was asked for
	Opaque  []byte   `json:",omitempty"`
	Name    []byte   `json:",omitempty"`
	Bytes   []uint64 `json:",omitempty"` // of segments
}

// An opened handle is kept as long as somebody needs it: the driver may open one only
// once.
type opened struct {
	base  uint64
	bytes []uint64 // of segments
	users int
}

// Share makes a handle.
func (g *gpu) Share(address uint64, bytes int64) ([]byte, error) {
	list, err := g.segments(address, uint64(max(bytes, 1)))
	if err != nil {
		return nil, err
	}
	h := handle{Process: process(), GPU: g.number, Base: list[0].base, Offset: address - list[0].base,
		Opaque: make([]byte, C.GPU_HANDLE)}
	if list[0].mapped {
		h.Opaque = nil
		if h.Name, err = g.export(list); err != nil {
			return nil, err
		}
		for _, s := range list {
			h.Bytes = append(h.Bytes, s.bytes)
		}
	} else if err := g.failed(C.mscclc_gpu_share(g.c, C.u64(h.Base), unsafe.Pointer(&h.Opaque[0])),
		"memory at %#x cannot be shared with other processes", address); err != nil {
		return nil, err
	}
	return json.Marshal(&h)
}

// Unshare ends what Share has begun, when all have reached it.
func (g *gpu) Unshare(text []byte) error {
	h, err := readHandle(text)
	if err == nil && h.Name != nil {
		files.forget(h.Name)
	}
	return err
}

func readHandle(text []byte) (h handle, err error) {
	if err = json.Unmarshal(text, &h); err == nil && h.Name == nil && len(h.Opaque) != C.GPU_HANDLE ||
		len(h.Bytes) > maxSegments {
		err = errors.New("a handle of memory has another length")
	}
	return h, err
}

// key is of what is opened once.
func (h *handle) key() string { return string(h.Process[:]) + string(h.Name) + string(h.Opaque) }

// Reach opens a handle.
func (g *gpu) Reach(text []byte) (uint64, error) {
	h, err := readHandle(text)
	if err != nil {
		return 0, err
	}
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if h.Process == process() {
		other := g.machine.gpus[h.GPU]
		if other == nil {
			return 0, errors.New("a handle of memory names no GPU")
		}
		err := g.reach(other)
		if err == nil && h.Name != nil && g != other {
			err = g.admit(segmentsOf(h.Base, h.Bytes))
		}
		return h.Base + h.Offset, err
	}
	o := g.opened[h.key()]
	if o == nil {
		o = &opened{bytes: h.Bytes}
		if h.Name != nil {
			o.base, err = g.importFiles(&h)
		} else {
			var base C.u64
			err = g.failed(C.mscclc_gpu_reach(g.c, unsafe.Pointer(&h.Opaque[0]), &base), "memory of another process")
			o.base = uint64(base)
		}
		if err != nil {
			return 0, err
		}
		g.opened[h.key()] = o
	}
	o.users++
	return o.base + h.Offset, nil
}

// Leave closes a handle.
func (g *gpu) Leave(text []byte) error {
	h, err := readHandle(text)
	if err != nil {
		return err
	}
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	o := g.opened[h.key()]
	if o == nil {
		return nil // it is of this process
	}
	if o.users--; o.users > 0 {
		return nil
	}
	delete(g.opened, h.key())
	if o.bytes != nil {
		return g.importEnd(o)
	}
	return g.failed(C.mscclc_gpu_leave(g.c, C.u64(o.base)), "leaving memory of another process")
}

// Peek reads beside what runs.
func (g *gpu) Peek(to []byte, address uint64) error { return g.read(g.c.side, to, address) }

// Poke writes beside what runs.
func (g *gpu) Poke(address uint64, from []byte) error { return g.write(g.c.side, address, from) }

func (g *gpu) read(stream unsafe.Pointer, to []byte, address uint64) error {
	if len(to) == 0 {
		return nil
	}
	return g.failed(C.mscclc_gpu_get(g.c, stream, unsafe.Pointer(&to[0]), C.u64(address), C.u64(len(to))),
		"copying from it")
}

func (g *gpu) write(stream unsafe.Pointer, address uint64, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	return g.failed(C.mscclc_gpu_put(g.c, stream, C.u64(address), unsafe.Pointer(&from[0]), C.u64(len(from))),
		"copying to it")
}

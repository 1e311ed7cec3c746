//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"fmt"
	"syscall"
	"unsafe"

	"mscclc/executor"
)

// This file is memory in segments. Plain memory is one; what was made and mapped in two steps
// (cuMemCreate, cuMemMap) may be many side by side: PyTorch's expandable segments are.

// A segment is memory that was made at once.
type segment struct {
	base, bytes uint64
	mapped      bool
}

// maxSegments bounds what one buffer consists of.
const maxSegments = 1 << 16

// segments returns the segments of the GPU that bytes from an address on lie in.
func (g *gpu) segments(address, bytes uint64) ([]segment, error) {
	short := func(end uint64) error {
		return fmt.Errorf("%d bytes from %#x on are wanted, and its memory has %d", bytes, address, end-address)
	}
	var list []segment
	for at := address; ; {
		number, base, length, err := g.owner(at)
		end := base + length
		switch {
		case err != nil:
			return nil, err
		case at > address && number != g.number:
			return nil, short(at)
		case number < 0:
			return nil, fmt.Errorf("%#x is no memory of a GPU", address)
		case number != g.number:
			return nil, fmt.Errorf("%#x is memory of GPU %d, and not of %v", address, number, g)
		}
		mapped, err := g.mapped(at)
		if err != nil {
			return nil, err
		}
		// What was mapped goes on in the next segment; plain memory that follows is another's.
		if at > address && !mapped {
			return nil, short(at)
		}
		list = append(list, segment{base, length, mapped})
		if bytes <= end-address {
			return list, nil
		}
		if !mapped || len(list) == maxSegments {
			return nil, short(end)
		}
		at = end
	}
}

func (g *gpu) mapped(address uint64) (bool, error) {
	var is C.int
	err := g.failed(C.mscclc_gpu_mapped(g.c, C.u64(address), &is), "looking at memory")
	return is != 0, err
}

// segmentsOf are segments side by side.
func segmentsOf(base uint64, bytes []uint64) (list []segment) {
	for _, n := range bytes {
		list = append(list, segment{base, n, true})
		base += n
	}
	return list
}

// admit lets the GPU access another's memory of this process, as far as that takes more than peer access.
func (g *gpu) admit(list []segment) error {
	for _, s := range list {
		if !s.mapped {
			continue
		}
		if err := g.failed(C.mscclc_gpu_admit(g.c, C.u64(s.base), C.u64(s.bytes)), "access to memory that was mapped at %#x",
			s.base); err != nil {
			return err
		}
	}
	return nil
}

// export has files of segments ready for other processes, and gives the name by which they
// ask for them.
func (g *gpu) export(list []segment) (name []byte, err error) {
	var open []int
	defer func() {
		if err != nil {
			closeAll(open)
		}
	}()
	for _, s := range list {
		if !s.mapped {
			return nil, fmt.Errorf("memory at %#x was mapped in part", list[0].base)
		}
		file := C.int(-1)
		if err := g.failed(C.mscclc_gpu_export(g.c, C.u64(s.base), &file), "memory at %#x cannot be exported",
			s.base); err != nil {
			return nil, err
		}
		if file < 0 {
			return nil, fmt.Errorf(
				"memory at %#x cannot be shared with other processes: who made it (cuMemCreate) asked for no POSIX file descriptor among its requestedHandleTypes: %w", s.base, executor.ErrNotSupported)
		}
		syscall.CloseOnExec(int(file))
		open = append(open, int(file))
	}
	return files.offer(open)
}

// importFiles maps segments of another process, and gives the address of the first.
func (g *gpu) importFiles(h *handle) (uint64, error) {
	var unit C.u64
	if err := g.failed(C.mscclc_gpu_granularity(g.c, &unit), "memory of another process"); err != nil {
		return 0, err
	}
	total := uint64(0)
	for _, n := range h.Bytes {
		if total += n; n == 0 || unit == 0 || n%uint64(unit) != 0 || total > 1<<46 {
			return 0, fmt.Errorf("a segment of %d bytes of another process: %v maps multiples of %d", n, g, uint64(unit))
		}
	}
	open, err := fetch(h)
	if err != nil {
		return 0, fmt.Errorf("memory of another process: %w", err)
	}
	defer closeAll(open)
	list := make([]C.int, len(open))
	for i, file := range open {
		list[i] = C.int(file)
	}
	var base C.u64
	code := C.mscclc_gpu_import(g.c, &list[0], (*C.u64)(unsafe.Pointer(&h.Bytes[0])), C.u32(len(list)), &base)
	return uint64(base), g.failed(code, "mapping memory of another process")
}

func (g *gpu) importEnd(o *opened) error {
	return g.failed(C.mscclc_gpu_import_end(g.c, C.u64(o.base), (*C.u64)(unsafe.Pointer(&o.bytes[0])),
		C.u32(len(o.bytes))), "leaving memory of another process")
}

func closeAll(open []int) {
	for _, file := range open {
		syscall.Close(file)
	}
}

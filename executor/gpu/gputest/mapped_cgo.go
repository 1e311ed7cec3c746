//go:build cgo && linux

package gputest

// #cgo CFLAGS: -O1 -Wall -Wextra
// #cgo LDFLAGS: -ldl
// #include "mapped.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"mscclc/executor"
)

// A mapper makes memory of GPUs as PyTorch's expandable segments are made.
type mapper struct {
	d       Device
	handles int // kinds of handles that it can be exported as
	made    map[uint64][2]C.u64
}

func newMapper(d Device, shareable bool) allocator {
	m := &mapper{d: d, made: map[uint64][2]C.u64{}}
	if shareable {
		m.handles = 1
	}
	return m
}

// call gives the driver's library, and whether it is AMD's.
func (m *mapper) call(g executor.GPU, f func(path *C.char, hip C.int) C.int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := g.Use(); err != nil {
		return err
	}
	name, hip := os.Getenv(m.d.Variable), C.int(0)
	if m.d.Name == "hip" {
		hip = 1
	}
	if name == "" {
		name = [2]string{"libcuda.so.1", "libamdhip64.so"}[hip]
	}
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	if code := f(path, hip); code != 0 {
		return fmt.Errorf("mapped memory: error %d", int(code))
	}
	return nil
}

// alloc makes as many segments as bytes need, and one more.
func (m *mapper) alloc(g executor.GPU, bytes int64) (uint64, error) {
	var address, unit C.u64
	make := func(segments C.u64) error {
		err := m.call(g, func(path *C.char, hip C.int) C.int {
			return C.mapped_make(path, hip, C.int(g.Number()), segments, C.int(m.handles), &address, &unit)
		})
		m.made[uint64(address)] = [2]C.u64{unit, segments}
		return err
	}
	if err := make(1); err != nil {
		return 0, err
	}
	if err := m.free(g, uint64(address)); err != nil {
		return 0, err
	}
	err := make(C.u64(bytes)/unit + 2)
	return uint64(address), err
}

func (m *mapper) free(g executor.GPU, address uint64) error {
	made := m.made[address]
	return m.call(g, func(path *C.char, hip C.int) C.int {
		return C.mapped_free(path, hip, C.u64(address), made[0],
			made[1])
	})
}

//go:build cgo && linux

package cuda

// #cgo CFLAGS: -O2 -Wall -Wextra
// #cgo LDFLAGS: -ldl -lpthread
// #include "driver.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"unsafe"

	"mscclc/executor"
)

// failed is the error of a call of the driver that gave code.
func failed(code C.int, format string, args ...any) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s (driver error %d)", fmt.Sprintf(format, args...), C.GoString(C.mscclc_cuda_error(code)), int(code))
}

// A gpu is one that the driver shows. Its context is the process's, and is kept.
type gpu struct {
	c       *C.struct_cuda_gpu
	number  int
	name    string
	major   int // of the compute capability
	minor   int
	sms     int
	modules map[string]*module // by element type
	peers   map[int]bool       // GPUs that it reaches
}

func (g *gpu) String() string { return fmt.Sprintf("GPU %d (%s)", g.number, g.name) }

// openDriver loads the driver, and counts its GPUs.
func openDriver() (int, error) {
	var why *C.char
	if code := C.mscclc_cuda_open(&why); code != 0 {
		if why != nil {
			return 0, fmt.Errorf("NVIDIA's driver cannot be opened: %s: %w", C.GoString(why), executor.ErrNoDevice)
		}
		return 0, fmt.Errorf("%v: %w", failed(code, "NVIDIA's driver does not start"), executor.ErrNoDevice)
	}
	var count C.int
	if err := failed(C.mscclc_cuda_count(&count), "counting GPUs"); err != nil {
		return 0, err
	}
	if count == 0 {
		return 0, fmt.Errorf("NVIDIA's driver shows no GPU: %w", executor.ErrNoDevice)
	}
	return int(count), nil
}

// openGPU asks for what a GPU is, and makes its context.
func openGPU(number int) (*gpu, error) {
	g := &gpu{c: (*C.struct_cuda_gpu)(C.calloc(1, C.sizeof_struct_cuda_gpu)), number: number, modules: map[string]*module{}, peers: map[int]bool{}}
	var name [256]C.char
	if err := failed(C.mscclc_cuda_name(C.int(number), &name[0], C.int(len(name))), "GPU %d", number); err != nil {
		return nil, err
	}
	g.name = C.GoString(&name[0])
	var facts [C.FACT_COUNT]C.int
	if err := failed(C.mscclc_cuda_facts(C.int(number), &facts[0]), "%v", g); err != nil {
		return nil, err
	}
	g.major, g.minor, g.sms = int(facts[C.FACT_MAJOR]), int(facts[C.FACT_MINOR]), int(facts[C.FACT_SMS])
	return g, failed(C.mscclc_cuda_gpu(C.int(number), g.c), "%v", g)
}

// reach lets a GPU access the memory of another.
func (g *gpu) reach(to *gpu) error {
	if g == to || g.peers[to.number] {
		return nil
	}
	var can C.int
	if err := failed(C.mscclc_cuda_peer(g.c, to.c, &can), "%v: memory of %v", g, to); err != nil {
		return err
	}
	if can == 0 {
		return fmt.Errorf("%v has no peer access to the memory of %v: %w", g, to, executor.ErrNoDevice)
	}
	g.peers[to.number] = true
	return nil
}

// A module is the kernel for one element type on one GPU.
type module struct {
	handle unsafe.Pointer
	entry  map[string]unsafe.Pointer
}

// load compiles PTX.
func (g *gpu) load(ptx []byte) (*module, error) {
	text := C.CString(string(ptx))
	defer C.free(unsafe.Pointer(text))
	const logBytes = 8 << 10
	log := (*C.char)(C.calloc(1, logBytes))
	defer C.free(unsafe.Pointer(log))
	m := &module{entry: map[string]unsafe.Pointer{}}
	if code := C.mscclc_cuda_module(g.c, text, log, logBytes, &m.handle); code != 0 {
		var version C.int
		C.mscclc_cuda_version(&version)
		return nil, fmt.Errorf("%v: the driver (CUDA %d.%d) does not take the kernel: %w\n%s", g, int(version)/1000, int(version)%1000/10, failed(code, "compiling"), C.GoString(log))
	}
	return m, nil
}

// find returns an entry of a module.
func (g *gpu) find(m *module, name string) (unsafe.Pointer, error) {
	if f, ok := m.entry[name]; ok {
		return f, nil
	}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var f unsafe.Pointer
	if err := failed(C.mscclc_cuda_function(g.c, m.handle, text, &f), "%v: entry %s", g, name); err != nil {
		return nil, err
	}
	m.entry[name] = f
	return f, nil
}

// resident is how many blocks of so many threads the GPU holds at once.
func (g *gpu) resident(f unsafe.Pointer, threads int) (int, error) {
	var blocks C.u32
	err := failed(C.mscclc_cuda_blocks(g.c, f, C.u32(threads), &blocks), "%v: room for blocks of %d threads", g, threads)
	return int(blocks) * g.sms, err
}

// A buffer is memory of a GPU, zeroed when it is made.
type buffer struct {
	gpu            *gpu
	address, bytes uint64
}

// grow makes a buffer of so many bytes where the one there is shorter.
func (b *buffer) grow(what string, bytes uint64) error {
	if bytes <= b.bytes {
		return nil
	}
	if err := b.free(); err != nil {
		return err
	}
	var address C.u64
	if err := failed(C.mscclc_cuda_alloc(b.gpu.c, C.u64(bytes), &address), "%v has no %d bytes for %s", b.gpu, bytes, what); err != nil {
		return err
	}
	b.address, b.bytes = uint64(address), bytes
	return nil
}

func (b *buffer) free() error {
	if b.address == 0 {
		return nil
	}
	err := failed(C.mscclc_cuda_free(b.gpu.c, C.u64(b.address)), "%v: freeing memory", b.gpu)
	b.address, b.bytes = 0, 0
	return err
}

func (b *buffer) zero() error {
	if b.bytes == 0 {
		return nil
	}
	return failed(C.mscclc_cuda_zero(b.gpu.c, C.u64(b.address), C.u64(b.bytes)), "%v: clearing memory", b.gpu)
}

// put copies a table to the GPU, at an offset of bytes, and get copies it back.
func put[T any](b *buffer, at uint64, from []T) error {
	if len(from) == 0 {
		return nil
	}
	return failed(C.mscclc_cuda_put(b.gpu.c, C.u64(b.address+at), unsafe.Pointer(&from[0]), C.u64(size(from))), "%v: copying to it", b.gpu)
}

func get[T any](b *buffer, at uint64, to []T) error {
	if len(to) == 0 {
		return nil
	}
	return failed(C.mscclc_cuda_get(b.gpu.c, unsafe.Pointer(&to[0]), C.u64(b.address+at), C.u64(size(to))), "%v: copying from it", b.gpu)
}

// size is the bytes of a table.
func size[T any](s []T) uint64 { return uint64(len(s)) * uint64(unsafe.Sizeof(*new(T))) }

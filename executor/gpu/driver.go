//go:build cgo && linux

package gpu

// #cgo CFLAGS: -O2 -Wall -Wextra
// #cgo LDFLAGS: -ldl -lpthread
// #include "driver.h"
// #include <stdlib.h>
import "C"

import (
	"bytes"
	"fmt"
	"unsafe"

	"mscclc/executor"
)

// A driver is a vendor's library.
type driver struct {
	vendor Vendor
	c      *C.struct_gpu_driver
}

// failed returns the error of a call of the driver that gave code.
func (d driver) failed(code C.int, format string, args ...any) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s (driver error %d)", fmt.Sprintf(format, args...),
		C.GoString(C.mscclc_gpu_error(d.c, code)), int(code))
}

// openDriver loads a vendor's driver, and counts its GPUs.
func openDriver(v Vendor) (driver, int, error) {
	d := driver{vendor: v}
	var why *C.char
	if code := C.mscclc_gpu_open(C.int(v), &d.c, &why); code != 0 {
		if why != nil {
			return d, 0, fmt.Errorf("%s's driver cannot be opened: %s: %w", v.maker(), C.GoString(why), executor.ErrNoDevice)
		}
		return d, 0, fmt.Errorf("%v: %w", d.failed(code, "%s's driver does not start", v.maker()), executor.ErrNoDevice)
	}
	var count C.int
	if err := d.failed(C.mscclc_gpu_count(d.c, &count), "counting GPUs"); err != nil {
		return d, 0, err
	}
	if count <= 0 {
		return d, 0, fmt.Errorf("%s's driver shows no GPU: %w", v.maker(), executor.ErrNoDevice)
	}
	return d, int(count), nil
}

// version returns the driver's, as the vendor counts.
func (d driver) version() (string, error) {
	var n C.int
	if err := d.failed(C.mscclc_gpu_version(d.c, &n), "the driver's version"); err != nil {
		return "", err
	}
	if d.vendor == HIP {
		return fmt.Sprintf("HIP %d.%d.%d", n/10000000, n/100000%100, n%100000), nil
	}
	return fmt.Sprintf("CUDA %d.%d", n/1000, n%1000/10), nil
}

// A gpu is a GPU that the driver shows. Its context is the process's primary one, and is kept.
type gpu struct {
	machine   *machine
	driver    driver
	c         *C.struct_gpu_card
	number    int
	name      string
	major     int // of the compute capability
	minor     int
	sms       int
	target    string             // of the images that it takes, once one was taken
	modules   map[string]*module // by image
	peers     map[int]bool       // GPUs that it reaches
	opened    map[string]*opened // memory of other processes, by handle
	sequences []*sequence        // of all plans; admission.mu guards it, and a copy may be kept
}

// Name returns the GPU's kind, as the driver has it.
func (g *gpu) Name() string { return g.name }

// PCI returns the GPU's address, such as 0000:3b:00.0, or "" where the driver does not say it.
func (g *gpu) PCI() string {
	var address [32]C.char
	C.mscclc_gpu_pci(g.driver.c, g.c.device, &address[0], C.int(len(address)))
	return C.GoString(&address[0])
}

// WholeLines reports whether stores of 128 bytes by g arrive at once in memory of the GPU with a PCI address.
func (g *gpu) WholeLines(address string) bool {
	text := C.CString(address)
	defer C.free(unsafe.Pointer(text))
	return C.mscclc_gpu_whole_lines(g.driver.c, C.int(g.number), C.mscclc_gpu_find(g.driver.c, text)) != 0
}

// Apart reports whether g reaches no memory of the GPU with a PCI address: the driver refuses it, or a variable does.
func (g *gpu) Apart(address string) bool {
	text := C.CString(address)
	defer C.free(unsafe.Pointer(text))
	return C.mscclc_gpu_apart(g.driver.c, C.int(g.number), C.mscclc_gpu_find(g.driver.c, text)) != 0
}

func (g *gpu) String() string { return fmt.Sprintf("GPU %d (%s)", g.number, g.name) }

// failed returns the error of a call for this GPU.
func (g *gpu) failed(code C.int, format string, args ...any) error {
	if code == 0 {
		return nil
	}
	return g.driver.failed(code, "%v: %s", g, fmt.Sprintf(format, args...))
}

// openGPU asks for what a GPU is, and makes its context.
func openGPU(m *machine, number int) (*gpu, error) {
	d := m.driver
	g := &gpu{machine: m, driver: d, c: (*C.struct_gpu_card)(C.calloc(1, C.sizeof_struct_gpu_card)), number: number,
		modules: map[string]*module{}, peers: map[int]bool{}, opened: map[string]*opened{}}
	if err := d.failed(C.mscclc_gpu_card(d.c, C.int(number), g.c), "GPU %d", number); err != nil {
		return nil, err // what the driver made of it is the process's, as of one that works
	}
	g.name = C.GoString(&g.c.name[0])
	g.major, g.minor, g.sms = int(g.c.facts[C.FACT_MAJOR]), int(g.c.facts[C.FACT_MINOR]), int(g.c.facts[C.FACT_SMS])
	return g, nil
}

// reach lets a GPU access the memory of another.
func (g *gpu) reach(to *gpu) error {
	if g == to || g.peers[to.number] {
		return nil
	}
	var can C.int
	if err := g.failed(C.mscclc_gpu_peer(g.c, to.c, &can), "memory of %v", to); err != nil {
		return err
	}
	if can == 0 {
		return fmt.Errorf("%v has no peer access to the memory of %v: %w", g, to, executor.ErrNoDevice)
	}
	g.peers[to.number] = true
	return nil
}

// A module is a kernel for one element type on one GPU.
type module struct {
	handle unsafe.Pointer
	entry  map[string]unsafe.Pointer
}

// multicast reports whether the driver offers multicast memory, and the GPU has a switch's
// arithmetic.
func (g *gpu) multicast() bool { return g.major >= 9 && C.mscclc_gpu_multicast(g.c) != 0 }

// load has the driver take an image.
func (g *gpu) load(image []byte) (*module, error) {
	text := C.CBytes(append(image, 0))
	defer C.free(text)
	const logBytes = 8 << 10
	log := (*C.char)(C.calloc(1, logBytes))
	defer C.free(unsafe.Pointer(log))
	m := &module{entry: map[string]unsafe.Pointer{}}
	if code := C.mscclc_gpu_module(g.c, text, log, logBytes, &m.handle); code != 0 {
		version, _ := g.driver.version()
		return nil, fmt.Errorf("%w (%s)\n%s", g.failed(code, "the driver does not take the kernel"), version, C.GoString(log))
	}
	return m, nil
}

// link has the driver's linker make machine code of PTX.
func (g *gpu) link(ptx []byte) ([]byte, error) {
	text := C.CBytes(append(bytes.TrimRight(ptx, "\x00"), 0))
	defer C.free(text)
	const logBytes = 8 << 10
	log := (*C.char)(C.calloc(1, logBytes))
	defer C.free(unsafe.Pointer(log))
	var code unsafe.Pointer
	var length C.u64
	size := C.u64(len(bytes.TrimRight(ptx, "\x00")) + 1)
	if failed := C.mscclc_gpu_link(g.c, text, size, log, logBytes, &code, &length); failed != 0 {
		return nil, fmt.Errorf("%w\n%s", g.failed(failed, "the driver's linker does not take the kernel"), C.GoString(log))
	}
	defer C.free(code)
	return C.GoBytes(code, C.int(length)), nil
}

// find returns an entry of a module.
func (g *gpu) find(m *module, name string) (unsafe.Pointer, error) {
	if ord, ok := m.entry[name]; ok {
		return ord, nil
	}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var ord unsafe.Pointer
	if err := g.failed(C.mscclc_gpu_function(g.c, m.handle, text, &ord), "entry %s", name); err != nil {
		return nil, err
	}
	m.entry[name] = ord
	return ord, nil
}

// resident returns how many blocks of `threads` threads the GPU holds at once.
func (g *gpu) resident(ord unsafe.Pointer, threads int) (int, error) {
	var blocks C.u32
	err := g.failed(C.mscclc_gpu_blocks(g.c, ord, C.u32(threads), &blocks), "room for blocks of %d threads", threads)
	return int(blocks) * g.sms, err
}

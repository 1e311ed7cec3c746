//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

// NameOf returns the name of the GPU with a number, of a vendor's, as its driver has it. It takes no memory of the GPU,
// so that it works where other processes use all of it.
func NameOf(v Vendor, number int) (string, error) {
	m := machines[v]
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.start(); err != nil {
		return "", err
	}
	var name [256]C.char
	code := C.mscclc_gpu_name(m.driver.c, C.int(number), &name[0], C.int(len(name)))
	if err := m.driver.failed(code, "the name of GPU %d", number); err != nil {
		return "", err
	}
	return C.GoString(&name[0]), nil
}

// MachineOf returns what a vendor's driver says of the GPUs of this machine. It takes no memory of them.
func MachineOf(v Vendor) (*Machine, error) {
	name, err := NameOf(v, 0)
	if err != nil {
		return nil, err
	}
	m := machines[v]
	m.mu.Lock()
	defer m.mu.Unlock()
	var count C.int
	if err := m.driver.failed(C.mscclc_gpu_count(m.driver.c, &count), "counting GPUs"); err != nil {
		return nil, err
	}
	is := &Machine{Device: name, GPUs: int(count)}
	if is.Driver, err = m.driver.version(); err != nil {
		return nil, err
	}
	if v == CUDA {
		is.Driver += kernelModule()
	}
	links := make([][]byte, is.GPUs)
	for a := range links {
		for b := range links {
			var link C.enum_gpu_link
			if a != b {
				code := C.mscclc_gpu_reach_kind(m.driver.c, C.int(a), C.int(b), &link)
				if err := m.driver.failed(code, "the link from GPU %d to GPU %d", a, b); err != nil {
					return nil, err
				}
			}
			links[a] = append(links[a], "-PN"[link])
		}
	}
	is.Links = linksText(links)
	return is, nil
}

// A Linker makes machine code of PTX for one GPU. Name is the GPU's, as its driver has it, and Target is 90 of sm_90.
type Linker struct {
	Name   string
	Target int
	gpu    *gpu
}

// NewLinker returns the driver's linker for the GPU with a number, of a vendor's.
func NewLinker(v Vendor, number int) (*Linker, error) {
	list, err := machines[v].open([]int{number})
	if err != nil {
		return nil, err
	}
	g := list[0]
	return &Linker{Name: g.name, Target: 10*g.major + g.minor, gpu: g}, nil
}

// Link returns machine code of PTX. It fails where the driver has no linker, or does not take the text.
func (l *Linker) Link(ptx []byte) ([]byte, error) {
	m := l.gpu.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	return l.gpu.link(ptx)
}

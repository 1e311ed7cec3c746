//go:build cgo && linux

package gpu

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/plan"
	"mscclc/executor/shared"
	"mscclc/kernels"
)

// A machine is a vendor's GPUs that were used so far, by number. mu guards them.
type machine struct {
	vendor    Vendor
	mu        sync.Mutex
	driver    driver
	count     int
	gpus      map[int]*gpu
	admission admission
	alone     sync.Mutex // see device.Alone
}

var machines = [...]*machine{CUDA: newMachine(CUDA), HIP: newMachine(HIP)}

func newMachine(v Vendor) *machine {
	return &machine{vendor: v, gpus: map[int]*gpu{}, admission: admission{plans: map[*order]bool{}}}
}

// Usual returns how plans are made where nobody says. A barrier of NVIDIA's is for any part of a block's threads.
func (d device) Usual() executor.Width {
	w := executor.Width{Most: plan.Replicas, Replicas: plan.Replicas, Tile: plan.Tile}
	w.Shares = d.machine.vendor == CUDA
	return w
}

// start opens the driver, once. The caller holds mu.
func (m *machine) start() (err error) {
	if m.count > 0 {
		return nil
	}
	if m.driver, m.count, err = openDriver(m.vendor); err != nil {
		m.count = 0
	}
	return err
}

// open returns some GPUs by number, or all.
func (m *machine) open(numbers []int) ([]*gpu, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.start(); err != nil {
		return nil, err
	}
	if len(numbers) == 0 {
		for n := range m.count {
			numbers = append(numbers, n)
		}
	}
	var list []*gpu
	for _, n := range numbers {
		if n < 0 || n >= m.count {
			return nil, fmt.Errorf("there is no GPU %d among %d: %w", n, m.count, executor.ErrNoDevice)
		}
		if m.gpus[n] == nil {
			g, err := openGPU(m, n)
			if err != nil {
				return nil, err
			}
			m.gpus[n] = g
		}
		list = append(list, m.gpus[n])
	}
	return list, nil
}

// targets returns the images that a GPU may take, the best first: PTX serves all
// later ones too, and of AMD's the driver takes the one that fits.
func (g *gpu) targets() ([]string, error) {
	switch {
	case g.target != "":
		return []string{g.target}, nil
	case g.driver.vendor == HIP:
		return []string{"gfx942", "gfx90a"}, nil
	case g.major >= 8:
		return []string{"sm_80"}, nil
	case g.major == 7:
		return []string{"sm_70"}, nil
	}
	return nil, fmt.Errorf("%v has compute capability %d.%d, and 7.0 is needed: %w", g, g.major, g.minor,
		executor.ErrNoDevice)
}

// kernel returns an entry of an image, which is loaded once.
func (m *machine) kernel(g *gpu, image, entry string) (kernel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mod := g.modules[image]
	if mod == nil {
		var err error
		if mod, err = g.take(image); err != nil {
			return kernel{}, err
		}
		g.modules[image] = mod
	}
	ord, err := g.find(mod, entry)
	return kernel{g, ord}, err
}

// take loads the first image that the driver takes.
func (g *gpu) take(image string) (*module, error) {
	targets, err := g.targets()
	if strings.HasPrefix(image, switchImages) {
		if !g.multicast() {
			return nil, fmt.Errorf("%v has no switch that adds up: %w", g, executor.ErrNotSupported)
		}
		return g.takeFor(image, "sm_90")
	}
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, target := range targets {
		mod, err := g.takeFor(image, target)
		if err == nil {
			g.target = target
			return mod, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (g *gpu) takeFor(image, target string) (*module, error) {
	code, err := kernels.Image(image, target)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, executor.ErrNotSupported)
	}
	return g.load(code)
}

type device struct {
	machine *machine
	numbers []int
}

// Device returns a vendor's GPUs: those with the given numbers, or all. Ranks go
// round them.
func Device(v Vendor, numbers ...int) executor.GPUs { return device{machines[v], numbers} }

func (d device) Name() string { return d.machine.vendor.String() }

// TakesRows says that GPUs run programs with an epilogue.
func (d device) TakesRows() bool { return true }

// Node names the machine, within which GPUs may map each other's memory, or nothing where it has no name.
func (d device) Node() string { return shared.Machine() }

// Open makes a program runnable, as a plan that is waited for.
func (d device) Open(img *abi.Image) (executor.Instance, error) {
	return plan.Open(d, img)
}

// GPUs opens the device's GPUs.
func (d device) GPUs() ([]executor.GPU, error) {
	GPUs, err := d.machine.open(d.numbers)
	if err != nil {
		return nil, err
	}
	list := make([]executor.GPU, len(GPUs))
	for i, g := range GPUs {
		list[i] = g
	}
	return list, nil
}

// Alone returns the lock of launches that are waited for, one for the vendor's GPUs in this process.
func (d device) Alone() sync.Locker { return &d.machine.alone }

// Driver names the driver and its version.
func (d device) Driver() (string, error) {
	if _, err := d.machine.open(nil); err != nil {
		return "", err
	}
	return d.machine.driver.version()
}

//go:build cgo && linux

package cuda

import (
	"errors"
	"fmt"
	"sync"

	"mscclc/executor"
	"mscclc/kernels"
)

// A machine is the GPUs that were used so far, by number. busy is held through a
// launch with its copies, and by who makes or frees memory: the driver may make
// such a call wait for the end of a kernel that waits for another GPU's, which is
// yet to be launched; nor need the blocks of two launches fit a GPU at once. mu
// guards the rest.
type machine struct {
	busy  sync.Mutex
	mu    sync.Mutex
	count int
	gpus  map[int]*gpu
}

var theMachine = machine{gpus: map[int]*gpu{}}

// open returns some GPUs by number, or all.
func (m *machine) open(numbers []int) ([]*gpu, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.count == 0 {
		count, err := openDriver()
		if err != nil {
			return nil, err
		}
		m.count = count
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
			g, err := openGPU(n)
			if err != nil {
				return nil, err
			}
			m.gpus[n] = g
		}
		list = append(list, m.gpus[n])
	}
	return list, nil
}

// target is the image that a GPU takes: PTX serves all later ones too.
func (g *gpu) target() (string, error) {
	switch {
	case g.major >= 8:
		return "sm_80", nil
	case g.major == 7:
		return "sm_70", nil
	}
	return "", fmt.Errorf("%v has compute capability %d.%d, and 7.0 is needed: %w", g, g.major, g.minor, executor.ErrNoDevice)
}

// kernel returns an entry of the kernel for a type, which is compiled once.
func (m *machine) kernel(g *gpu, t executor.DType, entry string) (kernel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mod := g.modules[t.String()]
	if mod == nil {
		target, err := g.target()
		if err != nil {
			return kernel{}, err
		}
		ptx, err := kernels.Image(t.String(), target)
		if err != nil {
			return kernel{}, err
		}
		if mod, err = g.load(ptx); err != nil {
			return kernel{}, err
		}
		g.modules[t.String()] = mod
	}
	f, err := g.find(mod, entry)
	return kernel{g, f}, err
}

// connect sees to peer access between all pairs of gpus that share a connection.
func (m *machine) connect(gpus []*gpu, conns []executor.Conn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range conns {
		a, b := gpus[int(c.Src)%len(gpus)], gpus[int(c.Dst)%len(gpus)]
		if err := errors.Join(a.reach(b), b.reach(a)); err != nil {
			return err
		}
	}
	return nil
}

type device struct{ numbers []int }

// Device returns NVIDIA's GPUs: those with the given numbers, or all. Ranks go
// round them.
func Device(numbers ...int) executor.Device { return device{numbers} }

func (device) Name() string { return "cuda" }

func (d device) Open(img *executor.Image) (executor.Instance, error) {
	gpus, err := theMachine.open(d.numbers)
	if err != nil {
		return nil, err
	}
	gpus = gpus[:min(len(gpus), img.Program.Coll.Ranks)]
	for _, g := range gpus {
		if _, err := g.target(); err != nil {
			return nil, err
		}
	}
	theMachine.busy.Lock()
	defer theMachine.busy.Unlock()
	if err := theMachine.connect(gpus, img.Conns); err != nil {
		return nil, err
	}
	return newInstance(img, gpus)
}

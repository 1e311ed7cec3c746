package host

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"sync"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/executor/shared"
)

// Options are New's. Zero fields mean the usual.
type Options struct {
	GPUs    int // that ranks of this process go round: 1
	Threads int // of the host, of each launch: GOMAXPROCS
}

// A device is the GPUs of this process.
type device struct {
	options Options
	alone   sync.Mutex
	open    func() ([]executor.GPU, error)
}

// New returns GPUs on the host's CPU. Without cgo, and on systems other than Linux, opening them is an error.
func New(o Options) executor.GPUs {
	o.GPUs, o.Threads = cmp.Or(o.GPUs, 1), cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	d := &device{options: o}
	d.open = sync.OnceValues(d.make)
	return d
}

// Name returns the CPU device's, which runs the same programs alike.
func (d *device) Name() string { return "cpu" }

// Open makes a program runnable, as a plan that is waited for.
func (d *device) Open(img *abi.Image) (executor.Instance, error) { return plan.Open(d, img) }

// TakesRows says that programs with an epilogue run.
func (d *device) TakesRows() bool { return true }

// GPUs opens the shares of the host.
func (d *device) GPUs() ([]executor.GPU, error) { return d.open() }

func (d *device) make() ([]executor.GPU, error) {
	if err := shared.Supported(); err != nil {
		return nil, err
	}
	runner, err := cpu.NewRunner(1)
	if err != nil {
		return nil, err
	}
	runner.Close()
	var list []executor.GPU
	for i := range d.options.GPUs {
		g, _ := gpus.LoadOrStore(gpu{i, d.options.Threads}, &gpu{i, d.options.Threads})
		list = append(list, g.(*gpu))
	}
	return list, nil
}

// gpus are those of this process, with at most one for each number and number of threads.
var gpus sync.Map

// Driver is nothing: there is none.
func (d *device) Driver() (string, error) { return "", nil }

// Alone returns the lock of launches that are waited for.
func (d *device) Alone() sync.Locker { return &d.alone }

// Usual has plans as wide as the CPU device runs their programs.
func (d *device) Usual() executor.Width {
	return executor.Width{Most: executor.DefaultMaxReplicas, Replicas: executor.DefaultReplicas,
		Tile: executor.DefaultTileBytes}
}

// A gpu is a share of the host.
type gpu struct{ number, threads int }

func (g *gpu) Number() int { return g.number }

// Name returns the name of the device: tables and simulations know the CPU by it.
func (g *gpu) Name() string { return "cpu" }

func (g *gpu) String() string { return fmt.Sprintf("CPU share %d", g.number) }

// Use has nothing to choose.
func (g *gpu) Use() error { return nil }

// Load has nothing to load: the kernels of all types are part of the program. Blocks are fibers, of any number.
func (g *gpu) Load(data.DType, executor.KernelKind) (int, error) { return math.MaxInt32, nil }

// NewPort makes a port that nobody asks: the kernel of the host makes the copies itself.
func (g *gpu) NewPort(int, int, uint64) (executor.Port, error) { return noPort{}, nil }

type noPort struct{}

func (noPort) Lanes() uint64 { return 0 }
func (noPort) Start() error  { return nil }
func (noPort) Err() error    { return nil }
func (noPort) Stop() error   { return nil }
func (noPort) Close() error  { return nil }

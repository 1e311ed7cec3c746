//go:build !cgo || !linux

package gpu

import (
	"fmt"
	"sync"

	"mscclc/executor"
	"mscclc/executor/abi"
)

// NameOf returns the name of the GPU with a number, of a vendor's.
func NameOf(v Vendor, _ int) (string, error) { return "", device{v}.missing() }

// MachineOf returns what a vendor's driver says of the GPUs of this machine.
func MachineOf(v Vendor) (*Machine, error) { return nil, device{v}.missing() }

// A Linker makes machine code of PTX for one GPU.
type Linker struct {
	Name   string
	Target int
}

// NewLinker returns the driver's linker for the GPU with a number, of a vendor's.
func NewLinker(v Vendor, _ int) (*Linker, error) { return nil, device{v}.missing() }

// Link returns machine code of PTX.
func (l *Linker) Link([]byte) ([]byte, error) { return nil, device{}.missing() }

type device struct{ vendor Vendor }

// Device returns a vendor's GPUs.
func Device(v Vendor, _ ...int) executor.GPUs { return device{v} }

func (d device) Name() string { return d.vendor.String() }

// TakesRows says that GPUs run programs with an epilogue.
func (d device) TakesRows() bool { return true }

func (d device) missing() error {
	return fmt.Errorf("the %s device needs Linux and cgo, and this mscclc was built without: %w", d.vendor,
		executor.ErrNoDevice)
}

func (d device) Open(*abi.Image) (executor.Instance, error) { return nil, d.missing() }

func (d device) GPUs() ([]executor.GPU, error) { return nil, d.missing() }

func (d device) NewLaunchOrder() (executor.LaunchOrder, error) { return nil, d.missing() }

// Alone returns a lock of nobody else's, since nothing is launched.
func (d device) Alone() sync.Locker { return new(sync.Mutex) }

func (d device) Driver() (string, error) { return "", d.missing() }

// Package cuda is the device for NVIDIA's GPUs. Package gpu implements it.
package cuda

import (
	"mscclc/executor"
	"mscclc/executor/gpu"
)

// Device returns NVIDIA's GPUs: those with the given numbers, or all. Ranks go
// round them.
func Device(numbers ...int) executor.GPUs { return gpu.Device(gpu.CUDA, numbers...) }

// NameOf returns the name of the GPU with a number, as NVIDIA's driver has it. It takes no memory of the GPU.
func NameOf(number int) (string, error) { return gpu.NameOf(gpu.CUDA, number) }

// Machine returns what NVIDIA's driver says of the GPUs of this machine. It takes no memory of them.
func Machine() (*gpu.Machine, error) { return gpu.MachineOf(gpu.CUDA) }

// NewLinker returns the linker of NVIDIA's driver, for the GPU with a number.
func NewLinker(number int) (*gpu.Linker, error) { return gpu.NewLinker(gpu.CUDA, number) }

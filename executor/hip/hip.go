// Package hip is the device for AMD's GPUs. Package gpu implements it.
package hip

import (
	"mscclc/executor"
	"mscclc/executor/gpu"
)

// Device returns AMD's GPUs: those with the given numbers, or all. Ranks go round
// them.
func Device(numbers ...int) executor.GPUs { return gpu.Device(gpu.HIP, numbers...) }

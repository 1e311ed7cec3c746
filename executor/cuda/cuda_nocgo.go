//go:build !cgo || !linux

package cuda

import (
	"fmt"

	"mscclc/executor"
)

type device struct{}

// Device returns NVIDIA's GPUs.
func Device(...int) executor.Device { return device{} }

func (device) Name() string { return "cuda" }

func (device) Open(*executor.Image) (executor.Instance, error) {
	return nil, fmt.Errorf("the CUDA device needs Linux and cgo, and this mscclc was built without: %w", executor.ErrNoDevice)
}

//go:build !cgo

package cpu

import (
	"fmt"

	"mscclc/executor"
	"mscclc/executor/abi"
)

type device struct{}

// Device returns the CPU.
func Device() executor.Device { return device{} }

func (device) Name() string { return "cpu" }

func (device) Open(*abi.Image) (executor.Instance, error) {
	return nil, fmt.Errorf("the CPU device needs cgo, and this mscclc was built without: %w", executor.ErrNotSupported)
}

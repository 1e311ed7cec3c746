//go:build !cgo

package cpu

import (
	"fmt"

	"mscclc/executor"
	"mscclc/executor/abi"
)

var errNoCgo = fmt.Errorf("the CPU device needs cgo, and this mscclc was built without: %w", executor.ErrNotSupported)

type device struct{}

// Device returns the CPU.
func Device() executor.Device { return device{} }

func (device) Name() string { return "cpu" }

// TakesRows says that the CPU runs programs with an epilogue.
func (device) TakesRows() bool { return true }

func (device) Open(*abi.Image) (executor.Instance, error) {
	return nil, errNoCgo
}

// A Runner runs launches, in builds with cgo.
type Runner struct{}

// NewRunner says that this build has none.
func NewRunner(int) (*Runner, error) { return nil, errNoCgo }

// One is of builds with cgo.
func (*Runner) One(*abi.OneParams, abi.Help) error { return errNoCgo }

// Rows is of builds with cgo.
func (*Runner) Rows(*abi.RowsLaunch) error { return errNoCgo }

// Two is of builds with cgo.
func (*Runner) Two(*abi.Params, *abi.TraceTables) error { return errNoCgo }

// Close is of builds with cgo.
func (*Runner) Close() {}

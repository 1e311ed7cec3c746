package devices

import (
	"context"
	"errors"
	"maps"
	"slices"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/cuda"
	"mscclc/executor/hip"
	"mscclc/ir/diag"
)

// Table has the devices that a build may have.
var Table = map[string]func() executor.Device{
	"cpu":  cpu.Device,
	"cuda": func() executor.Device { return cuda.Device() },
	"hip":  func() executor.Device { return hip.Device() },
}

// Names returns the names of Table.
func Names() []string { return slices.Sorted(maps.Keys(Table)) }

// Built returns the names of the devices that this build has.
func Built() []string {
	if !HasCPU {
		return []string{}
	}
	return Names()
}

// GPUs has the devices that work beside the host: all that there are, or those
// of some numbers.
var GPUs = map[string]func(...int) executor.GPUs{"cuda": cuda.Device, "hip": hip.Device}

// SharesCTAs reports whether replicas can share CTAs on a device (ir.TB).
func SharesCTAs(device string) bool {
	gpus := GPUs[device]
	return gpus != nil && executor.UsualWidth(gpus()).Shares
}

// Impossible says what an error of the executor is: diagnostics are about the
// program or the call, what is not supported where there is a device is of
// them too, and the rest is what this machine or this build cannot do. What has been reported stays as it is.
func Impossible(err error) error {
	var found diag.List
	var usage cli.UsageError
	var reported cli.ReportedError
	if errors.Is(err, context.Canceled) || errors.As(err, &found) || errors.As(err, &usage) ||
		errors.As(err, &reported) {
		return err
	}
	code := diag.Unavailable
	if HasCPU && errors.Is(err, executor.ErrNotSupported) {
		code = diag.Unsupported
	}
	return diag.List{diag.New(code, diag.Span{}, "%v", err)}
}
